#pragma once
// Names of coarrays, from the symbols of the executable where it has them.
#include <string>

#include "coarray/abi.hpp"

namespace sill::coarray {

struct Name {
  std::string text;       // "module::variable", "variable", "procedure-1", "static-1"
  bool by_order = false;  // counted: another build of the program may count otherwise
  // Where the program will keep the coarray's address, if the name was found by it; for a check.
  void* const* variable = nullptr;
};

// The name of the coarray behind a token. `token` is the address the compiler gave for it, `caller` where it registers
// from. The same arguments give the same name again.
Name name_of(const void* token, Registration kind, const void* caller);

// Name of the executable, without its folder.
std::string program_name();

// Digits that tell one build of the executable from another.
std::string build_of_program();

// Whether libcaf is part of the executable, where its functions can't be stood in front of.
bool libcaf_is_static();

}  // namespace sill::coarray
