#include "base/child.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/config.hpp"
#include "base/text.hpp"

namespace sill {
namespace {

constexpr const char* world_variable = "SILL_WORLD";
constexpr const char* parents_variable = "SILL_PARENTS";

bool is_program(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& command) {
  const std::string all = environment("PATH");
  for (const std::string_view folder : split(all, ':')) {
    const std::string path = std::string(folder) + "/" + command;
    if (!folder.empty() && is_program(path)) return path;
  }
  return "";
}

// A program that names a dynamic loader has it load what LD_PRELOAD names, unless it gives rights. Scripts hand it on.
bool loads_libraries(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & (S_ISUID | S_ISGID))) return false;
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  file.read(reinterpret_cast<char*>(&head), sizeof head);
  if (!file || std::string_view(reinterpret_cast<char*>(head.e_ident), SELFMAG) != ELFMAG) return file.gcount() > 0;
  for (int i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(head.e_phoff) + i * head.e_phentsize);
    file.read(reinterpret_cast<char*>(&part), sizeof part);
    if (!file) return false;
    if (part.p_type == PT_INTERP) return true;
  }
  return false;
}

bool has_prefix(std::string_view variable) {
  for (const std::string_view prefix : {"SILL_", "PCAF_", "MPI4PY_"})
    if (variable.substr(0, prefix.size()) == prefix) return true;
  return false;
}

}  // namespace

std::string world_name() { return environment(world_variable); }

std::string name_in_world(const std::string& name) {
  const std::string world = world_name();
  return world.empty() ? name : world + "-" + name;
}

bool spawned_by_sill() { return environment(parents_variable) == "sill"; }

std::string preloadable_command(const std::string& command, const std::string& folder) {
  if (command.empty() || command.find('=') != command.npos) return "";
  const bool bare = command.find('/') == command.npos;
  std::string path = bare ? on_path(command) : "";
  const bool searched = !path.empty();
  if (!searched) path = std::filesystem::path(folder) / command;
  if (!is_program(path) || !loads_libraries(path)) return "";
  return bare && !searched ? "./" + command : command;
}

std::vector<std::string> child_environment(const std::string& library, const std::string& world, bool all_with_sill) {
  if (library.find_first_of(" :") != library.npos) return {};
  std::string preload = environment("LD_PRELOAD");
  if (preload.find(library) == preload.npos) preload += (preload.empty() ? "" : ":") + library;
  std::vector<std::string> words = {"LD_PRELOAD=" + preload};
  for (char** variable = environ; *variable; ++variable)
    if (has_prefix(*variable)) words.emplace_back(*variable);
  // The last of a name counts.
  words.push_back(std::string(world_variable) + "=" + world);
  words.push_back(std::string(parents_variable) + "=" + (all_with_sill ? "sill" : ""));
  return words;
}

}  // namespace sill
