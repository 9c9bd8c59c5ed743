#pragma once
// What must hold for any text a user could write. A violated property ends the program: so a fuzzer sees it.
#include <string_view>

namespace sill::fuzz {

// Lines of "key=value" as hints: accepted hints come back unchanged from format_hints, refusals say why.
void check_hints(std::string_view text);
// A rule as in SILL_WINDOWS: accepted pairs have keys of the table, each once.
void check_rule(std::string_view text);
// A file name: what is accepted has no placeholder left unread, and can be a hint.
void check_filename(std::string_view text);
// A sill.toml: accepted pairs are good hints, refusals name path and line.
void check_toml(std::string_view text);
// The name of a split's directory: what is accepted can be expanded, refusals say why.
void check_directory(std::string_view text);
// A line of the kernel's list of mounts: what is read from it stands in it.
void check_mount(std::string_view text);
// Any text as a sidecar: a record is refused with a reason, or comes back the same when it is written again.
void check_record(std::string_view text);

}  // namespace sill::fuzz
