#include "base/config.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "base/descriptor.hpp"
#include "base/rules_toml.hpp"

namespace sill {
namespace {

Result<std::string> read_text(const std::string& path) {
  constexpr std::size_t largest = 1 << 20;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_status(errno, path);
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return errno_status(errno, path);
    if (text.size() > largest) return Status(Cause::bad_file, path + ": is larger than 1 MiB");
  }
}

// The user's sill.toml; "" where the surroundings name no absolute folder, for the current one is never asked.
std::string default_toml_path() {
  if (const std::string folder = environment("XDG_CONFIG_HOME"); folder.starts_with('/'))
    return folder + "/sill/sill.toml";
  const std::string home = environment("HOME");
  return home.starts_with('/') ? home + "/.config/sill/sill.toml" : "";
}

Result<std::string> default_toml(const std::string& path) {
  std::error_code unreadable;  // read_text says so again
  if (path.empty() || std::filesystem::status(path, unreadable).type() == std::filesystem::file_type::not_found)
    return std::string();
  return read_text(path);
}

}  // namespace

Result<HintPairs> rules_with(const std::string& variable) {
  const std::string chosen = environment("SILL_CONFIG");
  const std::string path = chosen.empty() ? default_toml_path() : chosen;
  const Result<std::string> text = chosen.empty() ? default_toml(path) : read_text(path);
  if (!text.ok())
    return Status(text.status().cause(), (chosen.empty() ? "" : "SILL_CONFIG: ") + text.status().message());
  return read_rules(variable, text.value(), path);
}

Result<HintPairs> read_rules(const std::string& variable, const std::string& toml_text, const std::string& toml_path) {
  Result<HintPairs> file = parse_toml_rules(toml_text, toml_path);
  if (!file.ok()) return file;
  Result<HintPairs> rules = parse_rule(variable);
  if (!rules.ok()) return Status(rules.status().cause(), "SILL_WINDOWS: " + rules.status().message());
  WindowHints unused;
  for (const auto& [key, value] : rules.value()) {
    const Status status = find_hint(key)->parse(value, unused);
    if (!status.ok()) return Status(status.cause(), "SILL_WINDOWS: " + key + "=" + value + ": " + status.message());
  }
  for (auto& pair : file.value()) {
    const auto same_key = [&](const auto& other) { return other.first == pair.first; };
    if (std::ranges::none_of(rules.value(), same_key)) rules.value().push_back(std::move(pair));
  }
  return rules;
}

const Result<HintPairs>& window_rules() {
  static const Result<HintPairs> rules = rules_with(environment("SILL_WINDOWS"));
  return rules;
}

std::string environment(const char* name) {
  const char* value = ::secure_getenv(name);
  return value ? value : "";
}

std::string job_name() {
  for (const char* name : {"SILL_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "FLUX_JOB_ID"})
    if (std::string id = environment(name); !id.empty()) return id;
  // The tasks of an array share the number of their job in LSF and SGE. JOB_ID alone is too common a name to trust.
  if (const std::string id = environment("LSB_JOBID"); !id.empty()) {
    const std::string task = environment("LSB_JOBINDEX");
    return task.empty() || task == "0" ? id : id + "." + task;
  }
  if (const std::string id = environment("JOB_ID"); !id.empty() && !environment("SGE_ROOT").empty()) {
    const std::string task = environment("SGE_TASK_ID");
    return task.empty() || task == "undefined" ? id : id + "." + task;
  }
  return "local";
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace sill
