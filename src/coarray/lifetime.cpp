#include "coarray/lifetime.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/log.hpp"
#include "coarray/files.hpp"
#include "coarray/libcaf.hpp"
#include "coarray/registry.hpp"
#include "coarray/stat.hpp"
#include "coarray/sync.hpp"
#include "coarray/team.hpp"
#include "mpi/below.hpp"
#include "mpi/comm.hpp"
#include "window/window_request.hpp"

namespace sill::coarray {
namespace {

bool started = false;
bool initialisers_expected = false;

// Images with other options would keep other coarrays, and wait for each other without end. Folders may differ, as
// those of nodes do. Collective; all images get the same status.
Status check_agreement() {
  std::string values;
  for (const OptionRow& row : option_table())
    if (row.variable != "PCAF_PATH") values += value_of(row, &environment) + '\n';
  const auto all = team().own->gather_all(std::hash<std::string>{}(values));
  if (!all.ok()) return all.status();
  const auto other = std::ranges::find_if(all.value(), [&](std::size_t hash) { return hash != all.value()[0]; });
  if (other == all.value().end()) return {};
  return {Cause::bad_hint, "image " + std::to_string(other - all.value().begin() + 1) +
                               " has other PCAF_ variables than image 1; the launcher has to pass them to all nodes"};
}

// Names that begin like the variables but are none have likely been misspelled.
void check_variables() {
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string_view(*entry).find('='));
    const std::string meant(meant_by(name));
    if (!meant.empty() && !environment(name.c_str()).empty())
      log(LogLevel::warn, name + ": there is no such variable; is " + meant + " meant?");
  }
  const Options& chosen = options().value();
  if (chosen.enabled && !chosen.whole())
    log(chosen.unlink ? LogLevel::info : LogLevel::warn,
        "PCAF_WINDOW: storage_alloc_factor leaves a part of each coarray in memory, so none comes back in the next "
        "run");
}

void initialize(int* argc, char*** argv) {
  {
    const LibcafTurn inside;
    const window::HintOverride runtime_is_memory;
    libcaf().next_init(argc, argv);
  }
  if (std::exchange(started, true)) return;
  set_log_rank(mpi::world_rank(-1));
  stop_on_error(begin_teams());
  stop_on_error(team().own->agree(options().status()));
  stop_on_error(check_agreement());
  if (team().own->rank == 0) check_variables();
  if (options().value().enabled) expect_initialisers();
  if (options().value().segment_size) log(LogLevel::info, "coarrays: PCAF_SEGSIZE is not applied");
}

// The shield falls: what initialisers wrote goes with it, the file's bytes are there.
Status unshield(Coarray& coarray) {
  if (!std::exchange(coarray.shielded, false)) return {};
  window::Window& window = coarray.window();
  Status status = window.own_segment()->attach(window.hints(), true, coarray.name());
  if (status.ok()) window.watch();
  return status;
}

// A name that was read off the compiler's code, and turns out to be another variable's: the file is that one's.
void check_name(Coarray& coarray) {
  void* const* variable = std::exchange(coarray.variable, nullptr);
  if (!variable || *variable == coarray.own_base()) return;
  stop_alone({Cause::bad_file, "what was taken for '" + coarray.name() +
                                   "' is another local coarray of this program, for the compiler's code is unusual; "
                                   "the file was not used; move these coarrays into a module, where they keep their "
                                   "names"});
}

// A program that asks only some of its coarrays whether they came back would mix two states.
void tell_new_ones() {
  const auto list = coarrays();
  if (std::ranges::none_of(list, &Coarray::restored)) return;
  for (Coarray* coarray : list)
    if (std::exchange(coarray->unexpected, false) && coarray->window().rank() == 0)
      log(LogLevel::warn, "coarrays: '" + coarray->name() + "' is new, others were restored");
}

// A name that no coarray had is likely misspelled.
void check_list(const char* variable, const std::vector<std::string>& listed) {
  for (const std::string& name : listed)
    if (!known(name)) log(LogLevel::warn, std::string(variable) + ": no coarray was called '" + name + "'");
}

// At the end each image sends each other one a word, which nobody takes; MPICH from 4.2 on aborts where a communicator
// is freed that has such messages. These receives take them whenever they come; MPI is ended before anybody could wait.
void take_last_words() {
  if (!team().initial()) return;
  const mpi::OwnComm& own = *team().own;
  static std::vector<int> words;
  static std::vector<MPI_Request> requests;
  words.resize(static_cast<std::size_t>(own.size));
  requests.resize(words.size(), MPI_REQUEST_NULL);
  for (int image = 0; image < own.size; ++image) {
    const auto at = static_cast<std::size_t>(image);
    if (image != own.rank) mpi::below().Irecv(&words[at], 1, MPI_INT, image, MPI_ANY_TAG, team().comm, &requests[at]);
  }
}

// Ends syncing nothing more, as MPI will be finalized or aborted below.
void finish() {
  const Options& chosen = options().value();
  if (chosen.enabled && team().own->rank == 0) {
    check_list("PCAF_COARRAYS", chosen.only);
    check_list("PCAF_VOLATILE", chosen.except);
  }
  leave_all();
  take_last_words();
  end_teams();
}

// STOP: libcaf tells the others and aborts, so nothing collective can be done. What this image has is made durable.
void stop() {
  if (const Status status = keep_own(); !status.ok()) log(LogLevel::error, "coarrays: " + status.message());
}

// A program whose libcaf is its own part would quietly keep nothing.
__attribute__((constructor)) void check_linkage() {
  if (options().ok() && !options().value().enabled) return;
  if (!libcaf_is_static()) return;
  log(LogLevel::error, program_name() +
                           ": PCAF_ENABLED has no effect, for OpenCoarrays is linked statically (as `caf` does); link "
                           "with: gfortran -fcoarray=lib ... -lcaf_openmpi (or -lcaf_mpich)");
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void start() {
  if (!started) initialize(nullptr, nullptr);
}

void expect_initialisers() { initialisers_expected = true; }

void settle() {
  if (!std::exchange(initialisers_expected, false)) return;
  for (Coarray* coarray : coarrays()) check_name(*coarray);
  for (Coarray* coarray : coarrays())
    if (const Status status = unshield(*coarray); !status.ok()) stop_alone(status);
  tell_new_ones();
  // For programs that link nothing of Sill's.
  if (::setenv("PCAF_RESTORED", restored() ? "true" : "false", 1) != 0)
    log(LogLevel::warn, "coarrays: PCAF_RESTORED could not be set");
}

bool restored() {
  const auto list = coarrays();
  const auto is_kept = [](const Coarray* coarray) { return coarray->kept; };
  return std::ranges::any_of(list, is_kept) &&
         std::ranges::all_of(list, [](const Coarray* coarray) { return !coarray->kept || coarray->restored; });
}

SILL_CAF_EXPORT void _gfortran_caf_init(int* argc, char*** argv) {
  if (LibcafTurn::now()) return libcaf().next_init(argc, argv);
  initialize(argc, argv);
  settle();
}

SILL_CAF_EXPORT void _gfortran_caf_finalize(void) {
  const LibcafTurn inside;
  finish();
  libcaf().next_finalize();
}

SILL_CAF_EXPORT void _gfortran_caf_stop_numeric(int code, bool quiet) {
  stop();
  const LibcafTurn inside;
  libcaf().next_stop_numeric(code, quiet);
}

SILL_CAF_EXPORT void _gfortran_caf_stop_str(const char* text, std::size_t length, bool quiet) {
  stop();
  const LibcafTurn inside;
  libcaf().next_stop_str(text, length, quiet);
}

}  // namespace sill::coarray
