#include "base/coarray_record.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.hpp"
#include "base/values.hpp"

namespace sill {
namespace {

constexpr std::string_view key = "\"coarray\": ";
constexpr std::string_view list_key = "\"coarrays\": ";
constexpr std::array<std::string_view, 3> states = {"fresh", "kept", "freed"};

Status not_a_record(const char* why) { return {Cause::bad_file, std::string("no record of a coarray: ") + why}; }

// Reads the JSON that to_json writes: one flat object of strings and whole numbers.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    if (!take('"')) return std::nullopt;
    std::string value;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        value += text_[at_];
        continue;
      }
      const auto c = escaped();
      if (!c) return std::nullopt;
      value += *c;
    }
    return take('"') ? std::optional(value) : std::nullopt;
  }
  std::optional<std::uint64_t> number() {
    skip_blanks();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }
  std::size_t position() const { return at_; }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  // What follows a backslash: json_string() writes \" \\ and \u00XX.
  std::optional<char> escaped() {
    if (++at_ >= text_.size()) return std::nullopt;
    if (text_[at_] == '"' || text_[at_] == '\\') return text_[at_];
    unsigned code = 0;
    const auto digits = text_.substr(at_).substr(0, 5);
    if (digits.size() != 5 || digits[0] != 'u') return std::nullopt;
    const auto [end, error] = std::from_chars(digits.data() + 1, digits.data() + 5, code, 16);
    if (error != std::errc() || end != digits.data() + 5 || code > 0x1f) return std::nullopt;
    at_ += 4;
    return static_cast<char>(code);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool read_field(Reader& reader, const std::string& name, CoarrayRecord& record) {
  for (const auto& [field, to] : {std::pair("program", &record.program), std::pair("build", &record.build),
                                  std::pair("name", &record.name), std::pair("team", &record.team)})
    if (name == field) {
      auto value = reader.string();
      if (value) *to = std::move(*value);
      return value.has_value();
    }
  for (const auto& [field, to] :
       {std::pair("size", &record.size), std::pair("image", &record.image), std::pair("images", &record.images)})
    if (name == field) {
      const auto value = reader.number();
      if (value) *to = *value;
      return value.has_value();
    }
  if (name == "offset") return (record.offset = reader.number()).has_value();
  const auto value = name == "state" ? reader.string() : std::nullopt;
  return value && values::read_name(*value, states, record.state).ok();
}

struct Found {
  std::vector<CoarrayRecord> records;
  bool is_list;
  std::size_t begin;
  std::size_t length;
};

bool read_record(Reader& reader, CoarrayRecord& record) {
  if (!reader.take('{')) return false;
  do {
    const auto name = reader.string();
    if (!name || !reader.take(':') || !read_field(reader, *name, record)) return false;
  } while (reader.take(','));
  return reader.take('}') && record.images > 0;
}

bool read_list(Reader& reader, std::vector<CoarrayRecord>& records) {
  if (!reader.take('[')) return false;
  if (reader.take(']')) return true;
  do {
    if (!read_record(reader, records.emplace_back()) || !records.back().offset) return false;
  } while (reader.take(','));
  return reader.take(']');
}

Result<Found> find(std::string_view sidecar) {
  const std::size_t one = sidecar.find(key);
  const std::size_t list = sidecar.find(list_key);
  if (one == sidecar.npos && list == sidecar.npos) return not_a_record("the sidecar has none");
  const bool is_list = one == sidecar.npos;
  const std::size_t begin = is_list ? list + list_key.size() : one + key.size();
  Reader reader(sidecar.substr(begin));
  Found found{{}, is_list, begin, 0};
  const bool read = is_list ? read_list(reader, found.records)
                            : read_record(reader, found.records.emplace_back()) && !found.records.front().offset;
  if (!read) return not_a_record("the sidecar's is damaged");
  found.length = reader.position();
  return found;
}

}  // namespace

std::string to_json(const CoarrayRecord& record) {
  return "{\"program\": " + json_string(record.program) + ", \"build\": " + json_string(record.build) +
         ", \"name\": " + json_string(record.name) + ", \"team\": " + json_string(record.team) +
         ", \"size\": " + std::to_string(record.size) + ", \"image\": " + std::to_string(record.image) +
         ", \"images\": " + std::to_string(record.images) +
         ", \"state\": " + json_string(values::name_of(states, record.state)) +
         (record.offset ? ", \"offset\": " + std::to_string(*record.offset) : "") + "}";
}

Result<std::vector<CoarrayRecord>> find_coarray_records(std::string_view sidecar) {
  auto found = find(sidecar);
  if (!found.ok()) return found.status();
  return std::move(found.value().records);
}

Result<std::string> replace_coarray_records(std::string_view sidecar, const std::vector<CoarrayRecord>& records) {
  const auto found = find(sidecar);
  if (!found.ok()) return found.status();
  const auto& [old, is_list, begin, length] = found.value();
  std::string text;
  for (const CoarrayRecord& record : records) text += (text.empty() ? "" : ", ") + to_json(record);
  if (is_list) text = "[" + text + "]";
  return std::string(sidecar.substr(0, begin)) + text + std::string(sidecar.substr(begin + length));
}

std::uint64_t free_offset(std::vector<CoarrayRecord> records, std::uint64_t size, std::uint64_t align,
                          std::uint64_t from) {
  const auto aligned = [&](std::uint64_t offset) { return (offset + align - 1) / align * align; };
  std::ranges::sort(records, {}, &CoarrayRecord::offset);
  std::uint64_t offset = aligned(from);
  for (const CoarrayRecord& record : records)
    if (*record.offset < offset + size) offset = std::max(offset, aligned(*record.offset + record.size));
  return offset;
}

}  // namespace sill
