#include "coarray/names.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.hpp"

namespace sill::coarray {
namespace {

constexpr const char* executable = "/proc/self/exe";

struct Symbol {
  std::uintptr_t begin;  // in this process
  std::uint64_t size;
  std::string name;
};

struct Symbols {
  std::vector<Symbol> objects;  // by address
  std::vector<Symbol> functions;
};

template <class Record>
std::vector<Record> read_records(std::ifstream& file, std::uint64_t offset, std::uint64_t bytes) {
  std::vector<Record> records(bytes / sizeof(Record));
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(records.data()), static_cast<std::streamsize>(records.size() * sizeof(Record)));
  if (!file) records.clear();
  return records;
}

std::uintptr_t load_address() {
  std::uintptr_t address = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        *static_cast<std::uintptr_t*>(found) = info->dlpi_addr;
        return 1;  // the first is the executable
      },
      &address);
  return address;
}

// What isn't stripped. Nothing of it is needed: without symbols, names are by order.
Symbols read_symbols() {
  Symbols found;
  std::ifstream file(executable, std::ios::binary);
  const auto header = read_records<ElfW(Ehdr)>(file, 0, sizeof(ElfW(Ehdr)));
  if (header.empty() || header[0].e_shentsize != sizeof(ElfW(Shdr))) return found;
  const auto sections =
      read_records<ElfW(Shdr)>(file, header[0].e_shoff, std::uint64_t{header[0].e_shnum} * sizeof(ElfW(Shdr)));
  const auto table = std::ranges::find(sections, ElfW(Word){SHT_SYMTAB}, &ElfW(Shdr)::sh_type);
  if (table == sections.end() || table->sh_link >= sections.size()) return found;
  const auto symbols = read_records<ElfW(Sym)>(file, table->sh_offset, table->sh_size);
  const auto names = read_records<char>(file, sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size);
  if (names.empty() || names.back() != '\0') return found;
  const std::uintptr_t base = load_address();
  for (const auto& symbol : symbols) {
    const int type = symbol.st_info & 0xf;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size()) continue;
    if (type == STT_OBJECT) found.objects.push_back({base + symbol.st_value, symbol.st_size, &names[symbol.st_name]});
    if (type == STT_FUNC) found.functions.push_back({base + symbol.st_value, symbol.st_size, &names[symbol.st_name]});
  }
  std::ranges::sort(found.objects, {}, &Symbol::begin);
  std::ranges::sort(found.functions, {}, &Symbol::begin);
  return found;
}

const Symbols& symbols() {
  static const auto* one = new Symbols(read_symbols());
  return *one;
}

const Symbol* holder_of(const std::vector<Symbol>& sorted, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto after = std::ranges::upper_bound(sorted, at, {}, &Symbol::begin);
  if (after == sorted.begin()) return nullptr;
  --after;
  return at < after->begin + after->size ? &*after : nullptr;
}

// A local coarray's token has no name of its own. But the instructions behind the call that registers it store the
// coarray's address in its variable. Which that is, their bytes tell: "mov %reg, distance(%rip)".
const Symbol* variable_set_behind(const void* caller) {
#ifdef __x86_64__
  constexpr std::size_t far = 96;
  const Symbol* function = holder_of(symbols().functions, caller);
  if (!function) return nullptr;
  const auto* code = static_cast<const unsigned char*>(caller);
  const auto* end = reinterpret_cast<const unsigned char*>(function->begin + function->size);
  for (const auto* limit = std::min(end - code, std::ptrdiff_t{far}) + code - 7; code < limit; ++code) {
    const bool store = (code[0] & 0xfb) == 0x48 && code[1] == 0x89 && (code[2] & 0xc7) == 0x05;
    if (!store) continue;
    std::int32_t distance;
    std::memcpy(&distance, code + 3, sizeof distance);
    const Symbol* symbol = holder_of(symbols().objects, code + 7 + distance);
    return symbol && symbol->size == sizeof(void*) ? symbol : nullptr;
  }
#else
  static_cast<void>(caller);
#endif
  return nullptr;
}

// "__m_MOD_x" is m::x; the compiler puts ".7" behind local names.
std::string readable(std::string_view symbol) {
  constexpr std::string_view token = "_F.caf_token";
  if (symbol.starts_with(token)) symbol.remove_prefix(token.size());
  if (const auto at = symbol.find("_MOD_"); symbol.starts_with("__") && at != symbol.npos)
    return std::string(symbol.substr(2, at - 2)) + "::" + std::string(symbol.substr(at + 5));
  return std::string(symbol.substr(0, symbol.find('.')));
}

// "procedure-2": the second place in it that registers a coarray on its stack.
std::string place_of(const void* caller) {
  static std::map<std::string, std::vector<const void*>> places;
  const Symbol* function = holder_of(symbols().functions, caller);
  const std::string procedure = function ? readable(function->name) : "allocatable";
  auto& known = places[procedure];
  auto at = std::ranges::find(known, caller);
  if (at == known.end()) at = known.insert(at, caller);
  return procedure + "-" + std::to_string(at - known.begin() + 1);
}

// Whether another variable of the program would be called the same: which is which, only the order could tell.
bool ambiguous(const Symbol& symbol) {
  const std::string name = readable(symbol.name);
  const auto same = [&](const Symbol& other) { return other.size == symbol.size && readable(other.name) == name; };
  return name.find("::") == name.npos && std::ranges::count_if(symbols().objects, same) > 1;
}

Name find_name(const void* token, Registration kind, const void* caller) {
  static int statics = 0;
  const Symbol* symbol = holder_of(symbols().objects, token);
  if (kind == Registration::static_coarray && symbol && symbol->name.starts_with("caf_token.")) {
    symbol = variable_set_behind(caller);
    if (symbol) return {readable(symbol->name), ambiguous(*symbol), reinterpret_cast<void* const*>(symbol->begin)};
  }
  if (symbol) return {readable(symbol->name), ambiguous(*symbol)};
  if (kind == Registration::static_coarray) return {"static-" + std::to_string(++statics), true};
  return {place_of(caller), true};
}

}  // namespace

Name name_of(const void* token, Registration kind, const void* caller) {
  static std::mutex mutex;
  static auto* names = new std::map<const void*, Name>;
  static auto* used = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  const void* key = kind == Registration::static_coarray || holder_of(symbols().objects, token) ? token : caller;
  if (const auto known = names->find(key); known != names->end()) return known->second;
  Name name = find_name(token, kind, caller);
  const std::string first = name.text;
  for (int count = 2; !used->insert(name.text).second; ++count) {
    name.text = first + "-" + std::to_string(count);
    name.by_order = true;
  }
  return names->emplace(key, std::move(name)).first->second;
}

std::string program_name() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink(executable, path.data(), path.size());
  const std::string_view whole(path.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return std::string(whole.substr(whole.rfind('/') + 1));
}

std::string build_of_program() {
  static const std::string digits = [] {
    std::ifstream file(executable, std::ios::binary);
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    std::vector<char> part(1u << 16);
    while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0)
      for (std::streamsize i = 0; i < file.gcount(); ++i)
        hash = (hash ^ static_cast<unsigned char>(part[static_cast<std::size_t>(i)])) * 0x100000001b3;
    return hex(hash, 16);
  }();
  return digits;
}

bool libcaf_is_static() {
  return std::ranges::find(symbols().functions, "_gfortran_caf_register", &Symbol::name) != symbols().functions.end();
}

}  // namespace sill::coarray
