#include "topology/split_request.hpp"

#include <algorithm>
#include <string_view>

#include "base/config.hpp"
#include "base/filename.hpp"
#include "mpi/below.hpp"
#include "mpi/comm.hpp"
#include "mpi/errors.hpp"
#include "sill/sill.h"

namespace sill::topology {
namespace {

using mpi::below;

constexpr std::string_view resource_key = "mpi_hw_resource_type";
constexpr std::string_view resource_prefix = "storage:";
constexpr std::string_view network_key = "network_topo";

const std::string* value_of(const HintPairs& pairs, std::string_view key) {
  const auto found = std::ranges::find(pairs, key, [](const auto& pair) { return std::string_view(pair.first); });
  return found == pairs.end() ? nullptr : &found->second;
}

// MPICH's value, which 4.2 gave to another type; 0 where the MPI below has none.
int native_neighborhood() {
  const mpi::Version version = mpi::version();
  if (version.library != mpi::Library::mpich) return 0;
  return version.major > 4 || (version.major == 4 && version.minor >= 2) ? 5 : 4;
}

// A program that was built with another MPICH than it runs with may say 4 for 5, and means what its info says.
bool is_neighborhood(int split_type, const HintPairs& pairs) {
  if (split_type == SILL_COMM_TYPE_NEIGHBORHOOD) return true;
#ifdef SILL_FAMILY_MPICH
  if ((split_type == 4 || split_type == 5) && value_of(pairs, SILL_NBHD_DIRNAME)) return true;
#endif
  return native_neighborhood() != 0 && split_type == native_neighborhood() && !value_of(pairs, resource_key);
}

// Not every header of a family has the names of these types, so they stand here as numbers.
bool is_guided(int split_type) {
#if defined(SILL_FAMILY_MPIABI)
  return split_type == 223 || split_type == 224;  // HW_GUIDED, RESOURCE_GUIDED
#elif defined(SILL_FAMILY_MPICH)
  return split_type == 2 || split_type == 4;
#else
  return split_type == 13 || split_type == 14;
#endif
}

std::string key_list(const HintPairs& pairs) {
  std::string keys;
  for (const auto& pair : pairs) keys += (keys.empty() ? "" : ", ") + pair.first;
  return keys;
}

SplitRequest neighborhood_request(const HintPairs& pairs) {
  if (value_of(pairs, SILL_NBHD_DIRNAME)) return directory_request(pairs);
  const int native = native_neighborhood();
  if (pairs.empty()) return {.wish = wish_open, .split_type = native != 0 ? native : SILL_COMM_TYPE_NEIGHBORHOOD};
  if (value_of(pairs, network_key) && native != 0) return {.wish = wish_pass, .split_type = native};
  SplitRequest request{.wish = wish_directory};
  if (value_of(pairs, SILL_NBHD_METHOD))
    request.status = {Cause::missing_hint, "nbhd_method: nbhd_common_dirname is missing"};
  else
    request.status = {Cause::unknown_hint, "MPIX_COMM_TYPE_NEIGHBORHOOD: no key says which one (" + key_list(pairs) +
                                               "); expected nbhd_common_dirname"};
  return request;
}

SplitRequest guided_request(int split_type, const HintPairs& pairs) {
  const std::string* resource = value_of(pairs, resource_key);
  if (!resource) return {.wish = wish_guided, .split_type = split_type};
  if (!resource->starts_with(resource_prefix)) return {.wish = wish_pass, .split_type = split_type};
  HintPairs hints = {{SILL_NBHD_DIRNAME, resource->substr(resource_prefix.size())}};
  if (const std::string* method = value_of(pairs, SILL_NBHD_METHOD)) hints.emplace_back(SILL_NBHD_METHOD, *method);
  return directory_request(hints);
}

}  // namespace

SplitRequest directory_request(const HintPairs& pairs) {
  SplitRequest request{.wish = wish_directory};
  auto hints = parse_split_hints(pairs);
  request.status = hints.status();
  if (hints.ok()) request.hints = std::move(hints).value();
  return request;
}

SplitRequest read_split_request(int split_type, MPI_Info info) {
  if (split_type == MPI_UNDEFINED) return {.wish = wish_nothing, .split_type = split_type};
  if (split_type == MPI_COMM_TYPE_SHARED) return {.wish = wish_pass, .split_type = split_type};
  const HintPairs pairs = mpi::info_pairs(info, [](const std::string&) { return true; });
  if (is_neighborhood(split_type, pairs)) return neighborhood_request(pairs);
  if (is_guided(split_type)) return guided_request(split_type, pairs);
  return {.wish = wish_pass, .split_type = split_type};
}

Result<std::optional<std::string>> directory_of(const SplitRequest& request, int rank) {
  if (!request.status.ok()) return request.status;
  if (request.wish != wish_directory) return std::optional<std::string>();
  auto path = expand_directory(request.hints.directory, {mpi::world_rank(rank), host_name(), "", job_name()});
  if (!path.ok()) return Status(path.status().cause(), "nbhd_common_dirname: " + path.status().message());
  return std::optional<std::string>(std::move(path).value());
}

Result<unsigned> all_wishes(MPI_Comm comm, unsigned mine, bool inter) {
  unsigned all = mine;
  // Between two groups, each gets what the other reduced; by the second time that is everything.
  for (int times = inter ? 2 : 1; times > 0; --times) {
    const unsigned known = all | mine;
    if (const int code = below().Allreduce(&known, &all, 1, MPI_UNSIGNED, MPI_BOR, comm); code != MPI_SUCCESS)
      return mpi::from_code(code, "MPI_Allreduce");
  }
  return all | mine;
}

}  // namespace sill::topology
