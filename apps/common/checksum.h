/* XXH64, a fast checksum (not cryptographic): https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* XXH64 of the bytes, with seed 0. Local. */
uint64_t checksum(const void* bytes, size_t count);
