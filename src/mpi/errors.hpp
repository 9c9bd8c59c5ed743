#pragma once
// Status values as MPI error codes.
#include <mpi.h>

#include <string>

#include "base/status.hpp"

namespace sill::mpi {

// An MPI error code of the fitting class whose MPI_Error_string is the message; MPI_SUCCESS for ok. Remembers the
// message for last_error_text(), and writes it to the log where the MPI below can't carry it.
int to_code(const Status& status);

// The same where there may be no MPI: before MPI_Init and after MPI_Finalize the code is the class.
int to_code_at_any_time(const Status& status);

// A status for a failed call of the MPI below.
Status from_code(int code, const char* call);

// The message of the last error to_code() saw on this thread.
const std::string& last_error_text();
// The message behind a code made by to_code(); nullptr for other codes.
const std::string* text_of(int code);

// Calls the communicator's or window's error handler with the status, and returns the code.
int raise_on_comm(MPI_Comm comm, const Status& status);
int raise_on_window(MPI_Win win, const Status& status);

// A window's error handler, for errors that show only when the window has gone.
class WindowHandler {
 public:
  explicit WindowHandler(MPI_Win win);
  ~WindowHandler();
  WindowHandler& operator=(WindowHandler&&) = delete;
  // Calls it with the status, for a window of this process alone, and returns the code. Local.
  int raise(const Status& status) const;

 private:
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
};

}  // namespace sill::mpi
