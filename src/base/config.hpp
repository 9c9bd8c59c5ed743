#pragma once
// What the user's surroundings say: SILL_* variables (read with secure_getenv) and sill.toml.
#include <string>

#include "base/hints.hpp"
#include "base/status.hpp"

namespace sill {

// Hints for windows that give none: those of SILL_WINDOWS over those of the table [windows] in sill.toml, key by key.
// sill.toml is $SILL_CONFIG, else $XDG_CONFIG_HOME/sill/sill.toml, else ~/.config/sill/sill.toml; never one in the
// current folder. Read once; a bad rule is the same error each time. Empty when there are no rules.
const Result<HintPairs>& window_rules();

// The same with another value of SILL_WINDOWS, read anew.
Result<HintPairs> rules_with(const std::string& variable);

// The same, read anew from given texts (toml_path for the message only).
Result<HintPairs> read_rules(const std::string& variable, const std::string& toml_text, const std::string& toml_path);

// Value of an environment variable, "" if unset or if the program runs with raised privileges.
std::string environment(const char* name);

// The name of this job, for %j: SILL_JOB_ID, else the batch system's (Slurm, PBS, LSF, SGE, Flux), else "local".
std::string job_name();

// This machine's name, for %h.
std::string host_name();

}  // namespace sill
