#include "window/automatic.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "storage/memory_limit.hpp"

namespace sill::window {
namespace {

// What a rank sees of its node's memory. Sent as bytes.
struct Seen {
  bool failed = false;
  std::uint64_t available = 0;
  std::uint64_t promised = 0;
};

// Settles what the requests of one node would get, as far as this process sees. The turn is held over nothing that
// waits for other ranks: these may wait for the turn of another node.
Status look_and_promise(std::span<Request> sisters, storage::Promise& promise) {
  const storage::PromiseTurn turn;
  // In this order: what is touched in between counts twice, not never.
  const std::uint64_t promised = storage::promised_memory();
  const auto available = storage::available_memory();
  if (!available.ok()) return available.status();
  for (Request& request : sisters) {
    request.available_memory = available.value();
    request.promised_memory = promised;
  }
  resolve_automatic(sisters);
  std::uint64_t sum = 0;
  for (const Request& request : sisters) sum += in_memory(request);
  promise = storage::Promise(sum);
  return {};
}

// By the lowest rank of the node that leaves its share to Sill, for all that do.
Status look_for_node(std::span<const Request> requests, int rank, storage::Promise& for_node, Seen& seen) {
  std::vector<Request> sisters;
  std::ranges::copy_if(requests, std::back_inserter(sisters), [&](const Request& request) {
    return request.automatic && request.node == requests[rank].node;
  });
  Status status = look_and_promise(sisters, for_node);
  seen = {!status.ok(), sisters.front().available_memory, sisters.front().promised_memory};
  return status;
}

}  // namespace

Status settle_shares(const mpi::OwnComm& own, std::span<Request> requests, storage::Promise& for_node) {
  std::map<int, int> lookers;
  for (int rank = 0; rank < own.size; ++rank)
    if (requests[rank].automatic) lookers.try_emplace(requests[rank].node, rank);
  if (lookers.empty()) return {};
  Seen mine;
  Status status;
  if (const Request& request = requests[own.rank]; request.automatic) {
    if (lookers.at(request.node) == own.rank) {
      status = look_for_node(requests, own.rank, for_node, mine);
    } else {
      const auto available = storage::available_memory();
      status = available.status();
      mine = {!available.ok(), available.ok() ? available.value() : 0, 0};
    }
  }
  const auto all = own.gather_all(mine);
  if (!all.ok()) return all.status();
  if (std::ranges::any_of(all.value(), &Seen::failed)) return own.agree(status);
  for (int rank = 0; rank < own.size; ++rank) {
    requests[rank].available_memory = all.value()[rank].available;
    requests[rank].promised_memory = all.value()[rank].promised;
  }
  resolve_automatic(requests);
  return {};
}

Status settle_share(Request& request, storage::Promise& promise) {
  if (request.automatic) return look_and_promise(std::span(&request, 1), promise);
  promise = storage::Promise(in_memory(request));
  return {};
}

}  // namespace sill::window
