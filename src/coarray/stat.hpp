#pragma once
// Errors as Fortran programs see them: stat= and errmsg=, else the end of the program.
#include <cstddef>

#include "base/status.hpp"

namespace sill::coarray {

// How a statement wants to learn of errors; null pointers where it doesn't.
struct ErrorArguments {
  int* stat = nullptr;
  char* message = nullptr;
  std::size_t length = 0;
};

// The value of stat= for errors of Sill's.
constexpr int stat_storage = 7001;

// Gives the status to the statement: 0, or stat_storage and the message. Without stat=, an error ends the program. All
// images of the team have the same status; the first tells it.
void give(const Status& status, const ErrorArguments& arguments);

// Ends the program on an error; all images of the team have the same status.
void stop_on_error(const Status& status);

// Ends the program on an error of this image alone.
[[noreturn]] void stop_alone(const Status& status);

}  // namespace sill::coarray
