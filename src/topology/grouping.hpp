#pragma once
// Who shares a store, decided by one rank from what all have told: which file-system operations are needed to prove it,
// and what follows from their answers. No MPI and no file system here.
//
//   Grouping grouping(method, identities);
//   while (grouping.next_round()) { ... each rank does its task ...; grouping.take(answers); }
//   ... grouping.places() ...
//
// Ranks with the same directory by machine, device and inode are one *view*: the kernel's proof, at no cost. Views of
// plain file systems differ for sure. The others are candidates: one view of each fingerprint makes a token, the rest
// look for tokens. A token's name is the same for all makers, and making it fails where it exists, so a store never
// gets two, whatever was guessed: what is read from it is the number of the rank that made it.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/split_hints.hpp"
#include "topology/identity.hpp"

namespace sill::topology {

enum class Task : std::int32_t {
  none,
  look,    // for the token, when all have been made
  create,  // the token, or look whose is there
  list,    // make a file of one's own, then see whose are there
};

enum class Outcome : std::int32_t {
  idle,     // nothing was to be done
  found,    // a token is there, of rank `maker`
  made,     // this rank's own
  nothing,  // no token is there
  refused,  // no token could be made, and none is there: read-only, full, no permission to write
  hidden,   // no permission to look
  gone,     // the directory was deleted meanwhile
};

struct Answer {
  Outcome outcome = Outcome::idle;
  std::int32_t maker = -1;
};

// Where a rank belongs.
struct Place {
  std::int32_t store = -1;    // numbered in the order of their lowest ranks; -1 for none
  std::int32_t unproven = 0;  // the store rests on identity, for it could not be probed
};

class Grouping {
 public:
  Grouping(SplitMethod method, std::span<const Identity> ranks);

  // Plans the next round; false when nothing is left to be found out.
  bool next_round();
  // Of the round, one for each rank.
  const std::vector<Task>& tasks() const { return tasks_; }
  // What the round brought, one answer for each rank.
  void take(std::span<const Answer> answers);

  // One for each rank; after the last round.
  std::vector<Place> places() const;

 private:
  struct View {
    int delegate;  // the rank that acts for it
    Identity identity;
    Answer answer{};
    bool tried = false;  // to make a token
  };

  // What views of one store have in common: what it is that they share, and which of those.
  enum class Common { none, token, view, fingerprint, node, all };
  using Key = std::pair<Common, std::uint64_t>;

  static bool resolved(const View& view) {
    return view.answer.outcome == Outcome::made || view.answer.outcome == Outcome::found;
  }
  void find_views(std::span<const Identity> ranks);
  void plan_first();
  void plan_next();
  void plan_heuristic();
  Key key_of(const View& view) const;

  SplitMethod method_;
  int round_ = 0;
  std::vector<View> views_;
  std::vector<int> view_of_;  // per rank, -1 for none
  std::vector<Task> tasks_;
};

}  // namespace sill::topology
