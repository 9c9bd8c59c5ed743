#include "coarray/record.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/values.hpp"

namespace sill::coarray {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view section = "coarrays";
constexpr std::string_view section_of_one = "coarray";  // of format 1, for a file of its own
constexpr std::array<std::string_view, 3> states = {"fresh", "kept", "freed"};
constexpr std::array texts = {std::pair("program", &CoarrayRecord::program), std::pair("build", &CoarrayRecord::build),
                              std::pair("name", &CoarrayRecord::name), std::pair("team", &CoarrayRecord::team)};
constexpr std::array numbers = {std::pair("size", &CoarrayRecord::size), std::pair("image", &CoarrayRecord::image),
                                std::pair("images", &CoarrayRecord::images)};

Json to_json(const CoarrayRecord& record) {
  Json object;
  for (const auto& [key, member] : texts) object[key] = record.*member;
  for (const auto& [key, member] : numbers) object[key] = record.*member;
  object["state"] = states[static_cast<std::size_t>(record.state)];
  if (record.offset) object["offset"] = *record.offset;
  return object;
}

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<CoarrayRecord> from_json(const Json& object) {
  CoarrayRecord record;
  const auto value = [&](const char* key) { return object.is_object() ? object.value(key, Json()) : Json(); };
  for (const auto& [key, member] : texts) {
    if (!value(key).is_string()) return std::nullopt;
    record.*member = value(key);
  }
  for (const auto& [key, member] : numbers) {
    if (!value(key).is_number_unsigned()) return std::nullopt;
    record.*member = value(key);
  }
  const Json state = value("state");
  if (!state.is_string() || !values::read_name(state.get<std::string>(), states, record.state).ok())
    return std::nullopt;
  if (const Json offset = value("offset"); offset.is_number_unsigned())
    record.offset = offset;
  else if (!offset.is_null())
    return std::nullopt;
  return record.images > 0 ? std::optional(record) : std::nullopt;
}

Status not_told(const char* why) { return {Cause::bad_file, std::string("no record of a coarray: ") + why}; }

// Those of a file's record, with its path in an error.
Result<CoarrayRecords> coarrays_beside(const std::string& path, const storage::Record& record) {
  auto coarrays = coarrays_in(record);
  if (coarrays.ok()) return coarrays;
  return Status(coarrays.status().cause(), storage::record_path(path) + ": " + coarrays.status().message());
}

}  // namespace

CoarrayRecord CoarrayRecord::as_written() const {
  return from_json(Json::parse(text_of(to_json(*this)))).value_or(*this);
}

Result<CoarrayRecords> coarrays_in(const storage::Record& record) {
  const std::string* list = record.section(section);
  const std::string* one = record.section(section_of_one);
  if (!list && !one) return not_told("the sidecar has none");
  const Json json = list ? Json::parse(*list) : Json::array({Json::parse(*one)});
  CoarrayRecords coarrays;
  for (const Json& object : json) {
    const auto coarray = from_json(object);
    if (!coarray || (json.size() > 1 && !coarray->offset)) return not_told("the sidecar's is damaged");
    coarrays.push_back(*coarray);
  }
  return coarrays;
}

void put_coarrays(storage::Record& record, const CoarrayRecords& coarrays) {
  Json list = Json::array();
  for (const CoarrayRecord& coarray : coarrays) list.push_back(to_json(coarray));
  record.put(section, text_of(list));
  record.drop(section_of_one);
}

Result<std::optional<CoarrayRecords>> read_coarrays(const std::string& path) {
  const auto record = storage::Record::read(path);
  if (!record.ok()) return record.status();
  if (!record.value()) return std::optional<CoarrayRecords>();
  auto coarrays = coarrays_beside(path, *record.value());
  if (!coarrays.ok()) return coarrays.status();
  return std::optional(std::move(coarrays).value());
}

Status change_coarrays(const storage::File& file, bool synced, const std::function<void(CoarrayRecords&)>& change) {
  return storage::change_record(file, [&](storage::Record& record) {
    auto coarrays = coarrays_beside(file.path(), record);
    if (!coarrays.ok()) return coarrays.status();
    change(coarrays.value());
    put_coarrays(record, coarrays.value());
    if (synced) record.note_sync();
    return Status();
  });
}

Status drop_coarray(const storage::File& file, const std::string& name) {
  return change_coarrays(file, false, [&](CoarrayRecords& coarrays) {
    std::erase_if(coarrays, [&](const CoarrayRecord& coarray) { return coarray.name == name; });
  });
}

std::uint64_t free_offset(CoarrayRecords coarrays, std::uint64_t size, std::uint64_t align, std::uint64_t from) {
  const auto aligned = [&](std::uint64_t offset) { return (offset + align - 1) / align * align; };
  std::ranges::sort(coarrays, {}, &CoarrayRecord::offset);
  std::uint64_t offset = aligned(from);
  for (const CoarrayRecord& coarray : coarrays)
    if (*coarray.offset < offset + size) offset = std::max(offset, aligned(*coarray.offset + coarray.size));
  return offset;
}

}  // namespace sill::coarray
