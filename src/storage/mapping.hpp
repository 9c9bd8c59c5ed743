#pragma once
// Mapping: a file seen at an address. The only caller of mmap, msync and madvise.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/hints.hpp"
#include "base/status.hpp"
#include "storage/file.hpp"

namespace sill::storage {

// Bytes of a page of memory: what addresses and offsets of mappings are multiples of.
std::size_t page_size();

// `value`, moved up or down to a multiple of `unit`.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t unit) { return value / unit * unit; }

// The kernel reads, maps and writes stretches of up to this many bytes as one, where address and offset in the file are
// congruent and it is told to. In mappings shorter than the second, that isn't worth its price.
constexpr std::uint64_t large_page = std::uint64_t{2} << 20;
constexpr std::uint64_t long_mapping = std::uint64_t{64} << 20;

// How a mapping will be used.
struct Usage {
  unsigned access_style = access_none;  // AccessStyle bits
  bool large_pages = false;             // unless the access is random
};

// Address space with anonymous memory behind it, given back at destruction.
class Region {
 public:
  Region() = default;
  // Begins at a multiple of `align`, a power of two.
  static Result<Region> reserve(std::size_t length, std::size_t align = 1);
  // Lies at `begin`, so that nothing else does. An error if something is there already. Both are multiples of a page.
  static Result<Region> occupy(std::byte* begin, std::size_t length);
  std::byte* data() const { return data_.get(); }

 private:
  struct Unmap {
    std::size_t length = 0;
    void operator()(std::byte* data) const;
  };
  Region(std::byte* data, std::size_t length) : data_(data, Unmap{length}) {}
  std::unique_ptr<std::byte, Unmap> data_;
};

// Where the mapping that `address` lies in ends; nullptr if the kernel doesn't tell.
std::byte* mapping_end(const void* address);

// Whether so many bytes of address space are to be had now.
Status check_address_space(std::size_t length);

// Puts the pages of `file` from `offset` on at `address`, in place of what is there. All page-aligned, but for
// `length`, which may end inside a page. Of a file that is only read they can't be stored to.
Status map_over(void* address, std::size_t length, const File& file, std::uint64_t offset, const Usage& usage);

// The same with private pages: what is stored there never reaches the file.
Status map_private(void* address, std::size_t length, const File& file, std::uint64_t offset);

// Puts fresh anonymous memory back at a page-aligned place.
Status unmap_over(void* address, std::size_t length);

// Whether large pages fit a mapping.
bool takes_large_pages(const void* address, std::size_t length, std::uint64_t offset);

// Tells the kernel how a mapping, or a part of one, will be used.
Status advise(void* address, std::size_t length, const Usage& usage);

// Takes out of memory what is clean of a mapping, and in use by no other process.
void forget_clean(void* address, std::size_t length, const File& file, std::uint64_t offset);

// Makes small pages of the large ones of a mapping that are clean, and mapped by no other process.
void break_large_pages(void* address, std::size_t length);

// Writes what is dirty in a mapping to the device; returns when it is there. `path` is for the message.
Status sync_mapping(void* address, std::size_t length, const std::string& path);

}  // namespace sill::storage
