#pragma once
// What differs between file systems: who sees a file, and how it is spread over devices.
#include <cstdint>
#include <optional>
#include <string>

namespace sill::storage {

// False for network and cluster file systems, whose files other nodes see too.
bool is_local_file_system(int fd);

// Flags that make open() leave the layout of a new file open, where striping can be chosen; else 0.
int striping_open_flags(const std::string& path);

// Spreads a new, empty file over `factor` devices in pieces of `unit` bytes. False where the file system has no
// striping or refuses, which is logged: a hint, not a condition.
bool apply_striping(int fd, std::optional<unsigned> factor, std::optional<std::uint64_t> unit);

}  // namespace sill::storage
