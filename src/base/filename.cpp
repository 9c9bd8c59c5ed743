// Placeholders of file names.
#include "base/filename.hpp"

namespace sill {
namespace {

// A field that leads into another folder would put the window where nobody looks for it.
Status append_field(const char* name, const std::string& text, std::string& path) {
  if (text.find('/') != text.npos || text.find('\0') != text.npos)
    return {Cause::bad_hint, std::string(name) + " '" + text + "' can't be part of a file name"};
  path += text;
  return {};
}

Status append_placeholder(char letter, const NameFields& fields, std::string& path) {
  switch (letter) {
    case '%': return append_field("a percent sign", "%", path);
    case 'r': return append_field("the rank", std::to_string(fields.rank), path);
    case 'h': return append_field("the host name", fields.host, path);
    case 'w': return append_field("the window number", fields.window, path);
    case 'j': return append_field("the job id", fields.job, path);
    default:
      return {Cause::bad_hint, std::string("'%") + letter + "' is no placeholder; expected %r, %h, %w, %j or %%"};
  }
}

}  // namespace

Result<std::string> expand_filename(std::string_view pattern, const NameFields& fields) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    if (++i == pattern.size()) return Status(Cause::bad_hint, "ends in '%'; expected %r, %h, %w, %j or %%");
    if (Status status = append_placeholder(pattern[i], fields, path); !status.ok()) return status;
  }
  return path;
}

std::string escape_filename(std::string_view path) {
  std::string pattern;
  for (const char letter : path) pattern.append(letter == '%' ? 2 : 1, letter);
  return pattern;
}

}  // namespace sill
