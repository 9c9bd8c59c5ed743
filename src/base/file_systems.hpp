#pragma once
// What is known of file systems by their types: the one table of them.
#include <cstdint>
#include <optional>
#include <string_view>

namespace sill {

struct FileSystem {
  enum class Kind : std::uint32_t {
    plain,    // of this kernel alone: another directory there is another store, and no other kernel sees it
    network,  // others may see it, and its source has the same name there
    stacked,  // others may see it, or it shows what lies elsewhere; names say nothing
  };

  std::string_view type;    // as mount shows it, "ext4"; one that ends with a dot is for all that begin so
  std::uint32_t magic = 0;  // as statfs() shows it, of those that other machines see
  Kind kind = Kind::stacked;
  // Nothing in an optional: not all of this type are alike.
  std::optional<bool> shared;     // other machines see the same files
  bool served = false;            // a server or another process decides when others see mapped bytes, and keeps them
  bool in_memory = false;         // of this machine
  std::optional<bool> dax;        // mappings can reach the device itself, past the page cache
  std::optional<bool> reflink;    // files can share blocks
  std::optional<bool> direct_io;  // O_DIRECT
};

// The row of a type. One that isn't in the table is stacked, and nothing is known of it.
const FileSystem& file_system_of(std::string_view type);

// The same for what statfs() calls its type.
const FileSystem& file_system_of_magic(std::uint32_t magic);

}  // namespace sill
