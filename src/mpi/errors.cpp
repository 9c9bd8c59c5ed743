#include "mpi/errors.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <vector>

#include "base/log.hpp"
#include "mpi/below.hpp"
#include "mpi/guard.hpp"

namespace sill::mpi {
namespace {

thread_local std::string last_text;

int error_class(Cause cause) {
  switch (cause) {
    case Cause::ok: return MPI_SUCCESS;
    case Cause::bad_hint:
    case Cause::hints_differ: return MPI_ERR_INFO_VALUE;
    case Cause::missing_hint: return MPI_ERR_INFO_NOKEY;
    case Cause::unknown_hint: return MPI_ERR_INFO_KEY;
    case Cause::no_such_file: return MPI_ERR_NO_SUCH_FILE;
    case Cause::bad_file: return MPI_ERR_BAD_FILE;
    case Cause::no_permission: return MPI_ERR_ACCESS;
    case Cause::read_only: return MPI_ERR_READ_ONLY;
    case Cause::no_space: return MPI_ERR_NO_SPACE;
    case Cause::quota: return MPI_ERR_QUOTA;
    case Cause::in_use: return MPI_ERR_FILE_IN_USE;
    case Cause::no_memory: return MPI_ERR_NO_MEM;
    case Cause::bad_argument: return MPI_ERR_ARG;
    case Cause::bad_size: return MPI_ERR_SIZE;
    case Cause::bad_disp: return MPI_ERR_DISP;
    case Cause::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    case Cause::io: return MPI_ERR_IO;
  }
  return MPI_ERR_OTHER;
}

// MPI libraries have few codes to give (MPICH 8192, none comes back before MPI 4.1), so texts share a ring of codes for
// each class; an old code shows the newest text that it was used for.
constexpr std::size_t codes_per_class = 16;

struct Code {
  int number;
  int error_class;
  std::string text;
};

std::mutex codes_mutex;
std::vector<Code>& codes() {
  static auto* all = new std::vector<Code>;  // outlives static destructors of the program
  return *all;
}

Code* reuse(int wanted_class, const std::string& text) {
  std::vector<Code*> same;
  for (Code& code : codes())
    if (code.error_class == wanted_class) same.push_back(&code);
  const auto match = std::find_if(same.begin(), same.end(), [&](const Code* code) { return code->text == text; });
  if (match != same.end()) return *match;
  if (same.size() < codes_per_class) return nullptr;
  static std::size_t turn = 0;
  return same[turn++ % codes_per_class];
}

Code* code_for(int wanted_class, const std::string& text) {
  if (Code* old = reuse(wanted_class, text)) return old;
  int number = wanted_class;
  if (below().Add_error_code(wanted_class, &number) != MPI_SUCCESS) return nullptr;
  codes().push_back({number, wanted_class, ""});
  return &codes().back();
}

// Long paths are cut in the middle: the key in front and the reason at the end must stay.
std::string fit(const std::string& text) {
  constexpr std::size_t most = MPI_MAX_ERROR_STRING - 1;
  if (text.size() <= most) return text;
  const std::size_t front = most / 2 - 3;
  return text.substr(0, front) + "..." + text.substr(text.size() - (most - front - 3));
}

// MPICH 4.0 takes a text for a code of a predefined class, but shows another one.
bool carries(int code, const std::string& text) {
  std::array<char, MPI_MAX_ERROR_STRING> shown{};
  int length = 0;
  return below().Error_string(code, shown.data(), &length) == MPI_SUCCESS && text == shown.data();
}

}  // namespace

int to_code(const Status& status) {
  if (status.ok()) return MPI_SUCCESS;
  last_text = status.message();
  const std::string text = fit("sill: " + status.message());
  const int wanted_class = error_class(status.cause());
  const std::lock_guard lock(codes_mutex);
  Code* code = code_for(wanted_class, text);
  if (code && code->text != text) {
    code->text = text;
    if (below().Add_error_string(code->number, text.c_str()) != MPI_SUCCESS) code = nullptr;
  }
  if (!code || !carries(code->number, text)) log(LogLevel::error, status.message());
  return code ? code->number : wanted_class;
}

int to_code_at_any_time(const Status& status) {
  if (between_init_and_finalize()) return to_code(status);
  last_text = status.message();
  return error_class(status.cause());
}

Status from_code(int code, const char* call) {
  if (code == MPI_SUCCESS) return {};
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  int found = MPI_ERR_OTHER;
  if (below().Error_string(code, text.data(), &length) != MPI_SUCCESS) text[0] = '\0';
  if (below().Error_class(code, &found) != MPI_SUCCESS) found = MPI_ERR_OTHER;
  return {found == MPI_ERR_NO_MEM ? Cause::no_memory : Cause::unsupported,
          std::string(call) + " of the MPI library failed: " + text.data()};
}

const std::string& last_error_text() { return last_text; }

const std::string* text_of(int code) {
  const std::lock_guard lock(codes_mutex);
  for (const Code& known : codes())
    if (known.number == code && code != known.error_class) {
      thread_local std::string text;
      text = known.text;
      return &text;
    }
  return nullptr;
}

namespace {

void say_before_abort(MPI_Errhandler handler, const Status& status) {
  if (quirks().loses_last_words && handler == MPI_ERRORS_ARE_FATAL) log(LogLevel::error, status.message());
}

template <class Handle>
int raise_on(Handle handle, const Status& status, int (*get)(Handle, MPI_Errhandler*), int (*call)(Handle, int)) {
  const int code = to_code(status);
  if (code == MPI_SUCCESS) return code;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (get(handle, &handler) == MPI_SUCCESS) {
    say_before_abort(handler, status);
    below().Errhandler_free(&handler);
  }
  const ProgramTurn outside;
  call(handle, code);
  return code;
}

}  // namespace

int raise_on_comm(MPI_Comm comm, const Status& status) {
  return raise_on(comm, status, below().Comm_get_errhandler, below().Comm_call_errhandler);
}

int raise_on_window(MPI_Win win, const Status& status) {
  return raise_on(win, status, below().Win_get_errhandler, below().Win_call_errhandler);
}

WindowHandler::WindowHandler(MPI_Win win) {
  if (below().Win_get_errhandler(win, &handler_) != MPI_SUCCESS) handler_ = MPI_ERRHANDLER_NULL;
}

WindowHandler::~WindowHandler() {
  if (handler_ != MPI_ERRHANDLER_NULL) below().Errhandler_free(&handler_);
}

int WindowHandler::raise(const Status& status) const {
  const int code = to_code(status);
  if (code == MPI_SUCCESS || handler_ == MPI_ERRORS_RETURN) return code;
  say_before_abort(handler_, status);
  const ProgramTurn outside;
  // A handler of windows can only be called for one.
  void* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  const bool made =
      handler_ != MPI_ERRHANDLER_NULL &&
      below().Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_SELF, static_cast<void*>(&base), &win) == MPI_SUCCESS;
  if (!made || below().Win_set_errhandler(win, handler_) != MPI_SUCCESS)
    below().Comm_call_errhandler(MPI_COMM_WORLD, code);
  else
    below().Win_call_errhandler(win, code);
  if (made) below().Win_free(&win);
  return code;
}

}  // namespace sill::mpi
