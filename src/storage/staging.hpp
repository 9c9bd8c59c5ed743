#pragma once
// The staged engine: a segment that is plain memory, read from its file at allocation and written out by sync.
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

// Reads [offset, offset + length) of the file into memory; what lies behind the end of the file reads as zeros.
Status read_in(const File& file, std::uint64_t offset, void* memory, std::size_t length);

// Writes the blocks of memory that differ from the file, and makes them durable. Several processes may do this for
// the same bytes of shared memory: one at a time, so that older bytes never overwrite newer ones. Returns bytes
// written.
Result<std::uint64_t> write_out(const File& file, std::uint64_t offset, const void* memory, std::size_t length);

}  // namespace sill::storage
