#include "base/coarray_record.hpp"

#include <array>
#include <charconv>
#include <optional>

#include "base/text.hpp"
#include "base/values.hpp"

namespace sill {
namespace {

constexpr std::string_view key = "\"coarray\": ";
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
  const auto value = name == "state" ? reader.string() : std::nullopt;
  return value && values::read_name(*value, states, record.state).ok();
}

struct Found {
  CoarrayRecord record;
  std::size_t begin;
  std::size_t length;
};

Result<Found> find(std::string_view sidecar) {
  const std::size_t at = sidecar.find(key);
  if (at == sidecar.npos) return not_a_record("the sidecar has none");
  const std::size_t begin = at + key.size();
  Reader reader(sidecar.substr(begin));
  Found found{{}, begin, 0};
  if (!reader.take('{')) return not_a_record("the sidecar's is damaged");
  do {
    const auto name = reader.string();
    if (!name || !reader.take(':') || !read_field(reader, *name, found.record))
      return not_a_record("the sidecar's is damaged");
  } while (reader.take(','));
  if (!reader.take('}') || found.record.images == 0) return not_a_record("the sidecar's is damaged");
  found.length = reader.position();
  return found;
}

}  // namespace

std::string to_json(const CoarrayRecord& record) {
  return "{\"program\": " + json_string(record.program) + ", \"build\": " + json_string(record.build) +
         ", \"name\": " + json_string(record.name) + ", \"team\": " + json_string(record.team) +
         ", \"size\": " + std::to_string(record.size) + ", \"image\": " + std::to_string(record.image) +
         ", \"images\": " + std::to_string(record.images) +
         ", \"state\": " + json_string(values::name_of(states, record.state)) + "}";
}

Result<CoarrayRecord> find_coarray_record(std::string_view sidecar) {
  auto found = find(sidecar);
  if (!found.ok()) return found.status();
  return std::move(found.value().record);
}

Result<std::string> replace_coarray_record(std::string_view sidecar, const CoarrayRecord& record) {
  const auto found = find(sidecar);
  if (!found.ok()) return found.status();
  const auto& [old, begin, length] = found.value();
  return std::string(sidecar.substr(0, begin)) + to_json(record) + std::string(sidecar.substr(begin + length));
}

}  // namespace sill
