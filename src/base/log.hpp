#pragma once
// One line a message on standard error: "sill[RANK] LEVEL: text". SILL_LOG = error | warn (default) | info | debug |
// off.
#include <string>

namespace sill {

enum class LogLevel { off, error, warn, info, debug };

// Whether a message of this level would be written; ask before building an expensive one.
bool log_enabled(LogLevel level);
void log(LogLevel level, const std::string& text);

// The rank shown in front of each line, -1 (the start value) for none.
void set_log_rank(int rank);

}  // namespace sill
