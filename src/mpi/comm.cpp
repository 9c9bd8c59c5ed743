#include "mpi/comm.hpp"

#include <array>
#include <charconv>
#include <mutex>

#include "base/config.hpp"
#include "mpi/below.hpp"
#include "mpi/errors.hpp"
#include "mpi/worlds.hpp"

namespace sill::mpi {
namespace {

using Shared = std::shared_ptr<const OwnComm>;

int drop_own_comm(MPI_Comm, int, void* value, void*) {
  delete static_cast<Shared*>(value);
  return MPI_SUCCESS;
}

int own_comm_keyval() {
  static std::once_flag once;
  static int keyval = MPI_KEYVAL_INVALID;
  std::call_once(once, [] { below().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &drop_own_comm, &keyval, nullptr); });
  return keyval;
}

bool has_threads() {
  int level = MPI_THREAD_SINGLE;
  return below().Query_thread(&level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE;
}

// The lowest rank of every rank's node, and whether any rank has threads: ranks may have started MPI in other ways.
Status find_nodes(OwnComm& own) {
  MPI_Comm node;
  if (const int code = below().Comm_split_type(own.comm, MPI_COMM_TYPE_SHARED, own.rank, MPI_INFO_NULL, &node);
      code != MPI_SUCCESS)
    return from_code(code, "MPI_Comm_split_type");
  int lowest = own.rank;
  int code = below().Bcast(&lowest, 1, MPI_INT, 0, node);
  const int mine = has_threads();
  int any = mine;
  own.node_of.resize(static_cast<std::size_t>(own.size));
  if (code == MPI_SUCCESS) code = below().Allgather(&lowest, 1, MPI_INT, own.node_of.data(), 1, MPI_INT, own.comm);
  if (code == MPI_SUCCESS) code = below().Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, own.comm);
  below().Comm_free(&node);
  own.threads = any != 0;
  own.node_count = 0;
  for (int rank = 0; rank < own.size; ++rank) own.node_count += own.node_of[rank] == rank;
  return from_code(code, "finding nodes");
}

// Bytes to and from other ranks; none are no message. The first error is kept.
class Messages {
 public:
  explicit Messages(MPI_Comm comm) : comm_(comm) {}
  void send(const char* data, std::size_t bytes, int to) {
    if (bytes > 0) note(below().Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm_, next()), "MPI_Isend");
  }
  void receive(char* data, std::size_t bytes, int from) {
    if (bytes > 0) note(below().Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, tag, comm_, next()), "MPI_Irecv");
  }
  Status wait() {
    note(below().Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    requests_.clear();
    return status_;
  }

 private:
  static constexpr int tag = 8;
  MPI_Request* next() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  void note(int code, const char* call) { status_.note(from_code(code, call)); }

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
  Status status_;
};

// The own communicator beside `user`; made at the first call.
Result<Shared> comm_beside(MPI_Comm user) {
  const int keyval = own_comm_keyval();
  if (keyval == MPI_KEYVAL_INVALID) return Status(Cause::unsupported, "the MPI library gave no attribute key");
  Shared* known = nullptr;
  int found = 0;
  if (below().Comm_get_attr(user, keyval, &known, &found) == MPI_SUCCESS && found) return *known;
  auto own = std::make_shared<OwnComm>();
  below().Comm_rank(user, &own->rank);
  below().Comm_size(user, &own->size);
  own->one_world = is_one_world(user);
  // A split, not a dup: a dup would copy the user's attributes and call the user's copy functions.
  if (const int code = below().Comm_split(user, 0, own->rank, &own->comm); code != MPI_SUCCESS)
    return from_code(code, "MPI_Comm_split");
  below().Comm_set_errhandler(own->comm, MPI_ERRORS_RETURN);
  if (Status status = find_nodes(*own); !status.ok()) return status;
  auto kept = std::make_unique<Shared>(own);
  if (const int code = below().Comm_set_attr(user, keyval, kept.get()); code != MPI_SUCCESS)
    return from_code(code, "MPI_Comm_set_attr");
  return *kept.release();
}

}  // namespace

OwnComm::~OwnComm() {
  if (comm != MPI_COMM_NULL) below().Comm_free(&comm);
}

Result<Shared> own_comm(MPI_Comm user) {
  auto own = comm_beside(user);
  if (!own.ok() || !own.value()->threads) return own;
  const OwnComm& known = *own.value();
  auto fresh = std::make_shared<OwnComm>();
  fresh->rank = known.rank;
  fresh->size = known.size;
  fresh->node_count = known.node_count;
  fresh->node_of = known.node_of;
  fresh->threads = known.threads;
  fresh->one_world = known.one_world;
  if (const int code = below().Comm_split(known.comm, 0, known.rank, &fresh->comm); code != MPI_SUCCESS)
    return from_code(code, "MPI_Comm_split");
  return Shared(std::move(fresh));
}

int launched_rank() {
  int rank = -1;
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const std::string text = environment(name);
    if (std::from_chars(text.data(), text.data() + text.size(), rank).ec == std::errc() && !text.empty()) return rank;
  }
  return -1;
}

int world_rank(int fallback) {
  int rank = -1;
  // There is a world from MPI_Init to MPI_Finalize; sessions may come before and after.
  if (between_init_and_finalize() && below().Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS) return rank;
  const int launched = launched_rank();
  return launched >= 0 ? launched : fallback;
}

Result<std::map<int, std::string>> gather_on_node(const OwnComm& own, const std::string& mine,
                                                  const std::vector<int>& lengths) {
  std::vector<int> ranks;
  std::size_t total = 0;
  for (int rank = 0; rank < own.size; ++rank)
    if (own.on_my_node(rank) && lengths[rank] > 0) ranks.push_back(rank);
  for (const int rank : ranks) total += static_cast<std::size_t>(lengths[rank]);
  std::string all(total, '\0');
  std::map<int, char*> places;
  for (char* place = all.data(); const int rank : ranks) {
    places[rank] = place;
    place += lengths[rank];
  }
  // By way of the node's lowest rank: a communicator of the node would be one more for each window.
  const int lowest = own.node_of[own.rank];
  Messages messages(own.comm);
  if (own.rank != lowest) {
    messages.send(mine.data(), mine.size(), lowest);
    messages.receive(all.data(), total, lowest);
  } else {
    for (const auto& [rank, place] : places)
      if (rank != own.rank) messages.receive(place, static_cast<std::size_t>(lengths[rank]), rank);
    if (!mine.empty()) mine.copy(places[own.rank], mine.size());
    if (Status status = messages.wait(); !status.ok()) return status;
    for (int rank = 0; rank < own.size; ++rank)
      if (rank != own.rank && own.on_my_node(rank)) messages.send(all.data(), total, rank);
  }
  if (Status status = messages.wait(); !status.ok()) return status;
  std::map<int, std::string> strings;
  for (const auto& [rank, place] : places) strings[rank].assign(place, static_cast<std::size_t>(lengths[rank]));
  return strings;
}

std::vector<std::pair<std::string, std::string>> info_pairs(MPI_Info info, bool (*wanted)(const std::string& key)) {
  std::vector<std::pair<std::string, std::string>> pairs;
  int count = 0;
  if (info == MPI_INFO_NULL || below().Info_get_nkeys(info, &count) != MPI_SUCCESS) return pairs;
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    if (below().Info_get_nthkey(info, i, key.data()) != MPI_SUCCESS || !wanted(key.data())) continue;
#if MPI_VERSION >= 4
    int length = MPI_MAX_INFO_VAL;
    below().Info_get_string(info, key.data(), &length, value.data(), &found);
#else
    below().Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found);
#endif
    if (found) pairs.emplace_back(key.data(), value.data());
  }
  return pairs;
}

}  // namespace sill::mpi
