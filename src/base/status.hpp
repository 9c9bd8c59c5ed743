#pragma once
// Errors as values: one cause each, with a message that names the path, the key and the reason.
#include <string>
#include <utility>
#include <variant>

namespace sill {

// One entry per thing that can be wrong; src/mpi turns each into an MPI error class.
enum class Cause : int {
  ok,
  bad_hint,      // a known key with a value outside its type or range
  missing_hint,  // a key without which the others mean nothing
  unknown_hint,  // no key that means anything to the call
  hints_differ,  // ranks disagree where they must not
  no_such_file,  // a folder of the path is missing
  bad_file,      // a folder, a pipe, a socket; a name too long
  no_permission,
  read_only,
  no_space,  // also: a device too small
  quota,
  in_use,  // another job's window, a mounted device
  no_memory,
  io,
  bad_argument,  // a call's argument, not a hint
  bad_size,
  bad_disp,
  unsupported,  // the system below can't do it
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Cause cause, std::string message) : cause_(cause), message_(std::move(message)) {}

  bool ok() const { return cause_ == Cause::ok; }
  Cause cause() const { return cause_; }
  const std::string& message() const { return message_; }
  // Of several, the first error counts.
  void note(const Status& later) {
    if (ok()) *this = later;
  }

 private:
  Cause cause_ = Cause::ok;
  std::string message_;
};

// "WHAT: reason" with the cause that fits the errno of a failed call on a file or device.
Status errno_status(int error, const std::string& what);

// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::move(value)) {}
  Result(Status status) : content_(std::move(status)) {}

  bool ok() const { return std::holds_alternative<T>(content_); }
  T& value() & { return std::get<T>(content_); }
  const T& value() const& { return std::get<T>(content_); }
  T&& value() && { return std::get<T>(std::move(content_)); }
  Status status() const { return ok() ? Status() : std::get<Status>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace sill
