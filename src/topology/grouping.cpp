#include "topology/grouping.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sill::topology {
namespace {

// A directory among all kernels.
struct Sight {
  std::uint64_t machine, device, inode;
  bool operator==(const Sight&) const = default;
};

struct SightHash {
  std::size_t operator()(const Sight& sight) const {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    return ((sight.machine * odd ^ sight.device) * odd ^ sight.inode) * odd;
  }
};

bool can_write(const Identity& identity) { return !identity.read_only && identity.likely_writer; }

}  // namespace

Grouping::Grouping(SplitMethod method, std::span<const Identity> ranks)
    : method_(method), tasks_(ranks.size(), Task::none) {
  find_views(ranks);
}

// `exhaustive` takes nothing for granted: each rank is a view of its own.
void Grouping::find_views(std::span<const Identity> ranks) {
  std::unordered_map<Sight, int, SightHash> known;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const Identity& identity = ranks[rank];
    view_of_.push_back(-1);
    if (identity.presence == Presence::absent) continue;
    int next = static_cast<int>(views_.size());
    if (method_ != SplitMethod::exhaustive)
      next = known.try_emplace({identity.machine, identity.device, identity.inode}, next).first->second;
    view_of_[rank] = next;
    if (next == static_cast<int>(views_.size()))
      views_.push_back({.delegate = rank, .identity = identity});
    else if (!can_write(views_[next].identity) && can_write(identity))
      views_[next] = {.delegate = rank, .identity = identity};
  }
}

bool Grouping::next_round() {
  tasks_.assign(tasks_.size(), Task::none);
  const int round = round_++;
  if (method_ == SplitMethod::automatic && round == 0) plan_first();
  if (method_ == SplitMethod::automatic && round > 0) plan_next();
  if (method_ == SplitMethod::heuristic && round == 0) plan_heuristic();
  if (method_ == SplitMethod::exhaustive && round == 0)
    for (const View& view : views_) tasks_[view.delegate] = Task::list;
  return std::ranges::any_of(tasks_, [](Task task) { return task != Task::none; });
}

// One view of each fingerprint makes a token, the others look. Plain views need no token of their own: what isn't found
// in them is theirs alone.
void Grouping::plan_first() {
  const auto is_plain = [](const View& view) { return view.identity.kind == Kind::plain; };
  if (views_.size() < 2 || std::ranges::all_of(views_, is_plain)) return;
  std::unordered_map<std::uint64_t, const View*> makers;
  for (const View& view : views_) {
    if (is_plain(view) || view.identity.read_only) continue;
    const View*& maker = makers.try_emplace(view.identity.fingerprint, &view).first->second;
    if (!can_write(maker->identity) && can_write(view.identity)) maker = &view;
  }
  if (makers.empty()) {
    plan_next();
    return;
  }
  for (const View& view : views_) tasks_[view.delegate] = Task::look;
  for (const auto& [fingerprint, maker] : makers) tasks_[maker->delegate] = Task::create;
}

// Views that found nothing may still share a store among themselves: all of them try to make a token, and one in each
// store succeeds. Plain views try too if a view is left that can't write, for theirs may be the same store. Each tries
// once, so this comes to an end.
void Grouping::plan_next() {
  const auto is_open = [](const View& view) { return !resolved(view) && view.answer.outcome != Outcome::gone; };
  const auto can_try = [](const View& view) {
    return !view.identity.read_only && !view.tried && view.answer.outcome != Outcome::hidden;
  };
  bool open = false;
  bool helpless = false;
  for (const View& view : views_) {
    if (!is_open(view) || view.identity.kind == Kind::plain) continue;
    open = true;
    helpless = helpless || (!can_try(view) && view.answer.outcome != Outcome::hidden);
  }
  const auto tries = [&](const View& view) {
    return is_open(view) && can_try(view) && (helpless || view.identity.kind != Kind::plain);
  };
  if (!open || std::ranges::none_of(views_, tries)) return;
  for (const View& view : views_)
    if (is_open(view)) tasks_[view.delegate] = tries(view) ? Task::create : Task::look;
}

// As published: one rank makes a file, one on another node looks for it.
void Grouping::plan_heuristic() {
  if (views_.empty()) return;
  const View& maker = views_.front();
  const auto elsewhere =
      std::ranges::find_if(views_, [&](const View& view) { return view.identity.node != maker.identity.node; });
  const View& challenger = elsewhere != views_.end() ? *elsewhere : views_.back();
  tasks_[maker.delegate] = Task::create;
  if (challenger.delegate != maker.delegate) tasks_[challenger.delegate] = Task::look;
}

void Grouping::take(std::span<const Answer> answers) {
  for (View& view : views_) {
    const Answer& answer = answers[view.delegate];
    view.tried = view.tried || tasks_[view.delegate] == Task::create;
    if (answer.outcome != Outcome::idle && !resolved(view)) view.answer = answer;
  }
}

// Views with the same key are one store.
Grouping::Key Grouping::key_of(const View& view) const {
  const Key by_fingerprint = {Common::fingerprint, view.identity.fingerprint};
  if (method_ == SplitMethod::fingerprint) return by_fingerprint;
  if (view.answer.outcome == Outcome::gone) return {Common::none, 0};
  if (method_ == SplitMethod::heuristic) {
    if (views_.front().answer.outcome != Outcome::made) return by_fingerprint;
    const bool seen_elsewhere = std::ranges::all_of(
        views_, [&](const View& other) { return other.answer.outcome == Outcome::idle || resolved(other); });
    return seen_elsewhere ? Key{Common::all, 0} : Key{Common::node, view.identity.node};
  }
  if (resolved(view)) return {Common::token, static_cast<std::uint64_t>(view.answer.maker)};
  const bool differs = method_ == SplitMethod::automatic && view.identity.kind == Kind::plain;
  if (differs || views_.size() == 1) return {Common::view, static_cast<std::uint64_t>(view.delegate)};
  return by_fingerprint;
}

std::vector<Place> Grouping::places() const {
  std::vector<Key> keys;
  std::unordered_map<std::uint64_t, Key> token_of;  // by fingerprint
  for (const View& view : views_) {
    keys.push_back(key_of(view));
    if (keys.back().first == Common::token) token_of.try_emplace(view.identity.fingerprint, keys.back());
  }
  std::vector<bool> unproven;
  for (std::size_t i = 0; i < views_.size(); ++i) {
    const bool hidden = views_[i].answer.outcome == Outcome::hidden;
    const bool guessed = keys[i].first == Common::fingerprint &&
                         (method_ == SplitMethod::exhaustive || views_[i].identity.kind != Kind::plain);
    unproven.push_back(views_.size() > 1 && (guessed || hidden));
    // Who may not look belongs where its like do.
    const auto token = token_of.find(views_[i].identity.fingerprint);
    if (hidden && token != token_of.end()) keys[i] = token->second;
  }
  std::map<Key, std::int32_t> numbers;
  std::vector<Place> places;
  for (const int view : view_of_) {
    Place place;
    if (view >= 0 && keys[view].first != Common::none) {
      place.store = numbers.try_emplace(keys[view], static_cast<std::int32_t>(numbers.size())).first->second;
      place.unproven = unproven[view];
    }
    places.push_back(place);
  }
  return places;
}

}  // namespace sill::topology
