#include "window/description.hpp"

#include <nlohmann/json.hpp>

namespace sill::window {

void put_description(storage::Record& record, const NameFields& fields, bool unlink, int leader,
                     std::span<const Placement> placements, std::span<const int> world_ranks) {
  using Json = nlohmann::ordered_json;
  Json segments = Json::array();
  for (std::size_t rank = 0; rank < placements.size(); ++rank) {
    const Placement& placement = placements[rank];
    if (placement.leader == leader)
      segments.push_back(
          {{"rank", world_ranks[rank]}, {"offset", placement.file_offset}, {"size", placement.storage_length}});
  }
  const Json section = {{"job", fields.job},
                        {"created", record.utc()},
                        {"window", fields.window},
                        {"unlink", unlink},
                        {"segments", std::move(segments)}};
  // A job's name needn't be UTF-8.
  record.put("window", section.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace sill::window
