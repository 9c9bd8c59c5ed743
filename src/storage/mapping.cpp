#include "storage/mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>

namespace sill::storage {
namespace {

constexpr int read_write = PROT_READ | PROT_WRITE;

// MADV_RANDOM also keeps the kernel from making large folios: a sync then writes the dirty pages, not 2 MiB for each.
// Nothing fits reverse reading, or the "mostly" styles, better than no advice: a fault then reads in both directions.
int kernel_advice(unsigned access_style) {
  if (access_style & access_random) return MADV_RANDOM;
  if (access_style & (access_sequential | access_read_once | access_write_once)) return MADV_SEQUENTIAL;
  return MADV_NORMAL;
}

}  // namespace

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Result<Region> Region::reserve(std::size_t length, std::size_t align) {
  if (length == 0) return Region(nullptr, 0);
  const std::size_t room = align > page_size() ? align : 0;
  const std::size_t whole = round_up(length, page_size()) + room;
  void* data = ::mmap(nullptr, whole, read_write, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return errno_status(errno, "reserving " + std::to_string(whole) + " bytes of address space");
  auto* begin = static_cast<std::byte*>(data);
  if (room == 0) return Region(begin, whole);
  const std::size_t before = (align - reinterpret_cast<std::uintptr_t>(data) % align) % align;
  const std::size_t kept = whole - room;
  if (before > 0) ::munmap(begin, before);
  if (room > before) ::munmap(begin + before + kept, room - before);
  return Region(begin + before, kept);
}

Result<Region> Region::occupy(std::byte* begin, std::size_t length) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  if (length == 0) return Region(nullptr, 0);
  void* data = ::mmap(begin, length, PROT_NONE, flags, -1, 0);
  if (data == MAP_FAILED) return errno_status(errno, "occupying " + std::to_string(length) + " bytes of address space");
  Region region(static_cast<std::byte*>(data), length);
  // Kernels before 4.17 take the address for a wish.
  if (data != begin) return errno_status(EEXIST, "occupying " + std::to_string(length) + " bytes of address space");
  return region;
}

Status check_address_space(std::size_t length) {
  if (length == 0) return {};
  void* data = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return errno_status(errno, "reserving " + std::to_string(length) + " bytes of address space");
  ::munmap(data, length);
  return {};
}

void Region::Unmap::operator()(std::byte* data) const { ::munmap(data, length); }

std::byte* mapping_end(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const char* last = line.data() + line.size();
    const auto read = std::from_chars(line.data(), last, begin, 16);
    if (read.ec != std::errc() || read.ptr == last) return nullptr;
    if (std::from_chars(read.ptr + 1, last, end, 16).ec != std::errc()) return nullptr;
    if (begin <= at && at < end) return reinterpret_cast<std::byte*>(end);
  }
  return nullptr;
}

bool takes_large_pages(const void* address, std::size_t length, std::uint64_t offset) {
  return length >= long_mapping && (reinterpret_cast<std::uintptr_t>(address) - offset) % large_page == 0;
}

Status map_over(void* address, std::size_t length, const File& file, std::uint64_t offset, const Usage& usage) {
  if (length == 0) return {};
  if (::mmap(address, length, file.is_readonly() ? PROT_READ : read_write, MAP_SHARED | MAP_FIXED, file.fd(),
             static_cast<off_t>(offset)) == MAP_FAILED)
    return errno_status(errno, file.path() + ": mapping " + std::to_string(length) + " bytes");
  return usage.access_style || usage.large_pages ? advise(address, length, usage) : Status();
}

Status map_private(void* address, std::size_t length, const File& file, std::uint64_t offset) {
  constexpr int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  if (length == 0 || ::mmap(address, length, read_write, flags, file.fd(), static_cast<off_t>(offset)) != MAP_FAILED)
    return {};
  return errno_status(errno, file.path() + ": mapping " + std::to_string(length) + " bytes privately");
}

Status unmap_over(void* address, std::size_t length) {
  if (length == 0) return {};
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  if (::mmap(address, length, read_write, flags, -1, 0) == MAP_FAILED) return errno_status(errno, "unmapping a window");
  return {};
}

Status advise(void* address, std::size_t length, const Usage& usage) {
  if (length == 0) return {};
  const bool random = usage.access_style & access_random;
  // A kernel without large pages refuses, and does well with small ones.
  if (usage.large_pages) (void)::madvise(address, length, random ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  if (::madvise(address, length, kernel_advice(usage.access_style)) == 0) return {};
  return errno_status(errno, "access_style: madvise");
}

void forget_clean(void* address, std::size_t length, const File& file, std::uint64_t offset) {
  // The second call passes over what is mapped. Neither loses a byte, so failing means no more than memory in use.
  (void)::madvise(address, length, MADV_DONTNEED);
  (void)::posix_fadvise(file.fd(), static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
}

void break_large_pages(void* address, std::size_t length) {
  // The kernel breaks up a large page when a part of it is called cold. File systems make none below four pages.
  const std::size_t step = 4 * page_size();
  for (std::size_t at = 0; at < length; at += step)
    (void)::madvise(static_cast<std::byte*>(address) + at, page_size(), MADV_COLD);
}

Status sync_mapping(void* address, std::size_t length, const std::string& path) {
  if (length == 0) return {};
  const auto begin = round_down(reinterpret_cast<std::uintptr_t>(address), page_size());
  const auto end = reinterpret_cast<std::uintptr_t>(address) + length;
  int result;
  do result = ::msync(reinterpret_cast<void*>(begin), end - begin, MS_SYNC);
  while (result != 0 && errno == EINTR);
  return result == 0 ? Status() : errno_status(errno, path + ": sync");
}

}  // namespace sill::storage
