// The functions of sill.h about stores.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/versioned.hpp"
#include "mpi/below.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors.hpp"
#include "pmpi/entry.hpp"
#include "sill/sill.h"
#include "topology/store.hpp"
#include "topology/store_info.hpp"
#include "topology/survey.hpp"

namespace {

using sill::Cause;
using sill::Status;
using sill::mpi::below;
using sill::topology::SplitRequest;
using sill::topology::Survey;

// Bytes of the struct in the first version of SILL_ABI 1.
constexpr std::size_t first_store_info = 928;

// The list and all it points to.
struct OwnedList : sill_store_list {
  Survey survey;
  std::vector<sill_store> store_array;
  std::vector<const sill_store*> store_addresses;
  std::vector<const sill_split_stats*> split_addresses;
  std::vector<const char*> names;
};

template <class T>
std::vector<const T*> addresses(const std::vector<T>& all) {
  std::vector<const T*> found;
  for (const T& one : all) found.push_back(&one);
  return found;
}

sill_store_list* make_list(Survey&& survey, int directory_count) {
  auto list = std::make_unique<OwnedList>();
  list->survey = std::move(survey);
  const Survey& kept = list->survey;
  for (const auto& store : kept.stores)
    list->store_array.push_back({sizeof(sill_store), &store.info, store.path.c_str(), store.directory, store.unproven,
                                 static_cast<int>(store.ranks.size()), store.ranks.data()});
  list->store_addresses = addresses(list->store_array);
  list->split_addresses = addresses(kept.splits);
  for (const std::string& name : kept.node_names) list->names.push_back(name.c_str());
  static_cast<sill_store_list&>(*list) = {
      sizeof(sill_store_list), static_cast<int>(kept.stores.size()), list->store_addresses.data(),
      directory_count,         list->split_addresses.data(),         static_cast<int>(kept.node_of.size()),
      kept.node_of.data(),     static_cast<int>(list->names.size()), list->names.data()};
  return list.release();
}

bool is_inter(MPI_Comm comm) {
  int inter = 0;
  return below().Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter;
}

// What a rank asks for in each directory; a rank without one takes part all the same.
std::vector<SplitRequest> read_directories(int count, const char* const* directories, MPI_Info info) {
  const auto methods = sill::mpi::info_pairs(info, [](const std::string& key) { return key == SILL_NBHD_METHOD; });
  std::vector<SplitRequest> all;
  for (int i = 0; i < count; ++i) {
    sill::HintPairs pairs = methods;
    if (directories[i]) pairs.emplace_back(SILL_NBHD_DIRNAME, directories[i]);
    all.push_back(directories[i] ? sill::topology::directory_request(pairs)
                                 : SplitRequest{.wish = sill::topology::wish_nothing, .status = {}, .hints = {}});
  }
  return all;
}

}  // namespace

SILL_EXPORT int sill_store_query(const char* path, sill_store_info* info) {
  if (!path || !info) return sill::mpi::to_code_at_any_time({Cause::bad_argument, "sill_store_query: a null argument"});
  const auto store = sill::topology::query_store(path);
  if (!store.ok()) return sill::mpi::to_code_at_any_time(store.status());
  const sill_store_info own = sill::topology::to_info(store.value());
  const Status status = sill::hand_out("sill_store_info", first_store_info, &own, info);
  return status.ok() ? MPI_SUCCESS : sill::mpi::to_code_at_any_time(status);
}

SILL_EXPORT int sill_stores(MPI_Comm comm, int root, int count, const char* const directories[], MPI_Info info,
                            sill_store_list** list) {
  if (comm == MPI_COMM_NULL || is_inter(comm))
    return sill::mpi::to_code({Cause::bad_argument, "sill_stores: comm must be an intra-communicator"});
  int size = 0;
  below().Comm_size(comm, &size);
  Status status;
  if (root < 0 || root >= size)
    status = {Cause::bad_argument, "sill_stores: root is no rank of comm"};
  else if (!list || count < 0 || (count > 0 && !directories))
    status = {Cause::bad_argument, "sill_stores: a null argument or a negative count"};
  auto found = sill::topology::survey(
      comm, root, status.ok() ? read_directories(count, directories, info) : std::vector<SplitRequest>(), status);
  if (list) *list = nullptr;
  if (!found.ok()) return sill::mpi::to_code(found.status());
  int rank = 0;
  below().Comm_rank(comm, &rank);
  *list = make_list(std::move(found).value(), rank == root ? count : 0);
  return MPI_SUCCESS;
}

SILL_EXPORT int sill_stores_free(sill_store_list** list) {
  if (!list) return sill::mpi::to_code_at_any_time({Cause::bad_argument, "sill_stores_free: a null argument"});
  delete static_cast<OwnedList*>(*list);
  *list = nullptr;
  return MPI_SUCCESS;
}
