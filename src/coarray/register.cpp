// Birth and end of coarrays. libcaf allocates them, and its call of MPI_Win_allocate becomes one of Sill's windows: the
// token stays libcaf's own, so whatever Sill leaves to libcaf works on them too.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "coarray/files.hpp"
#include "coarray/libcaf.hpp"
#include "coarray/lifetime.hpp"
#include "coarray/names.hpp"
#include "coarray/registry.hpp"
#include "coarray/stat.hpp"
#include "coarray/sync.hpp"
#include "coarray/team.hpp"
#include "window/window_request.hpp"

namespace sill::coarray {
namespace {

struct Call {
  std::size_t size;
  int kind;
  Token* token;
  Descriptor* descriptor;
  ErrorArguments errors;
  const void* caller;

  void pass_on() const {
    const LibcafTurn inside;
    libcaf().next_register(size, kind, token, descriptor, errors.stat, errors.message, errors.length);
  }
};

// Memory that the node's ranks can map, so that they reach it directly.
WindowHints mappable_memory() {
  WindowHints hints;
  hints.alloc_type = AllocType::storage;
  hints.anonymous = true;
  hints.discard = true;
  hints.reserve = Reserve::sparse;
  hints.learn = false;
  hints.write_behind = false;
  return hints;
}

// A place that registers several coarrays at a time, as a recursive procedure does, gives each a name.
Name unused_name(Name name) {
  const std::string first = name.text;
  const auto live = coarrays();
  for (int count = 2; std::ranges::find(live, name.text, &Coarray::name) != live.end(); ++count)
    name.text = first + "+" + std::to_string(count);
  return name;
}

// Names this run has deallocated: what it allocates there anew is not restored.
std::set<std::string>& freed() {
  static auto* one = new std::set<std::string>;
  return *one;
}

void withdraw(const Call& call) {
  const LibcafTurn inside;
  libcaf().next_deregister(call.token, static_cast<int>(Deregistration::whole), nullptr, nullptr, 0);
  call.descriptor->data = nullptr;
}

void enter_coarray(const Call& call, const Name& name, const Place* place) {
  const MPI_Win win = static_cast<LibcafToken*>(*call.token)->window;
  window::Window* window = window::find(win);
  if (!window) return;
  auto coarray = std::make_unique<Coarray>(*call.token, win, window, name.text);
  const bool is_static = call.kind == static_cast<int>(Registration::static_coarray);
  coarray->allocatable = !is_static;
  coarray->by_order = name.by_order;
  if (place) {
    coarray->file = place->file;
    coarray->kept = options().value().whole();
    coarray->restored = place->restored && !freed().contains(name.text);
    coarray->unexpected = place->is_new && !freed().contains(name.text);
    coarray->variable = name.variable;
    expect_initialisers();
    if (place->restored) {
      coarray->shielded = true;
      stop_on_error(window->comm()->agree(window->own_segment()->engine().shield()));
    }
  }
  enter(std::move(coarray));
}

void register_coarray(const Call& call) {
  const Name name = unused_name(name_of(call.token, static_cast<Registration>(call.kind), call.caller));
  const Options& chosen = options().value();
  const bool keep = chosen.enabled && chosen.keeps(name.text) && call.size > 0;
  auto place = keep ? place_of(name, call.size, chosen) : Result<Place>(Place{mappable_memory()});
  if (!place.ok()) return give(place.status(), call.errors);
  Status failure;
  {
    window::HintOverride instead(place.value().hints, place.value().file);
    call.pass_on();
    failure = instead.failure;
  }
  if (!failure.ok() && keep) {
    withdraw(call);
    return give({failure.cause(), "'" + name.text + "': " + failure.message()}, call.errors);
  }
  if (!failure.ok()) return log(LogLevel::info, "coarrays: '" + name.text + "' is libcaf's: " + failure.message());
  enter_coarray(call, name, keep ? &place.value() : nullptr);
}

// A component is memory of libcaf's that only this process knows: pointers to it mean nothing to the next run. The
// coarray that has one goes back to being memory.
void register_component(const Call& call) {
  Coarray* holder = holder_of(call.token);
  if (holder) holder->has_components = true;
  if (holder && holder->kept) {
    log(team().own->rank == 0 ? LogLevel::warn : LogLevel::info,
        "coarrays: '" + holder->name() + "' is not kept: it has allocatable components, which lie elsewhere; name it " +
            "in PCAF_VOLATILE to be spared this message");
    if (const Status status = forget_file(*holder); !status.ok()) log(LogLevel::warn, "coarrays: " + status.message());
  }
  const window::HintOverride memory;
  call.pass_on();
}

// libcaf drops the token before the one it frees from its list, and would never free it.
class ListRepair {
 public:
  explicit ListRepair(Token token) {
    if (!libcaf().newest_token) return;
    LibcafTokenList* newer = nullptr;
    for (LibcafTokenList* at = *libcaf().newest_token; at; newer = std::exchange(at, at->older))
      if (at->token == token) {
        newer_ = newer;
        older_ = at->older;
        return;
      }
  }
  ~ListRepair() {
    if (newer_) newer_->older = older_;
  }
  ListRepair& operator=(ListRepair&&) = delete;

 private:
  LibcafTokenList* newer_ = nullptr;
  LibcafTokenList* older_ = nullptr;
};

void deregister_coarray(Coarray& coarray) {
  if (coarray.kept) {
    coarray.file->end_as(CoarrayRecord::State::freed);
    freed().insert(coarray.name());
    // A file of its own is deleted; in that of the image, where others may lie, its place is to be given up.
    const CoarrayRecord& record = coarray.file->record();
    if (options().value().unlink && record.offset)
      if (const Status status = drop_coarray(coarray.window().own_segment()->file(), record.name); !status.ok())
        log(LogLevel::warn, "coarrays: " + status.message());
  }
  leave(coarray.token());
}

}  // namespace

SILL_CAF_EXPORT void _gfortran_caf_register(std::size_t size, int kind, Token* token, Descriptor* descriptor, int* stat,
                                            char* errmsg, std::size_t length) {
  const Call call{size, kind, token, descriptor, {stat, errmsg, length}, __builtin_return_address(0)};
  if (LibcafTurn::now()) return call.pass_on();
  start();
  switch (static_cast<Registration>(kind)) {
    case Registration::static_coarray:
    case Registration::allocatable_coarray: return register_coarray(call);
    case Registration::component:
    case Registration::component_memory: return register_component(call);
    default: break;
  }
  const window::HintOverride memory;
  call.pass_on();
}

SILL_CAF_EXPORT void _gfortran_caf_deregister(Token* token, int kind, int* stat, char* errmsg, std::size_t length) {
  Coarray* coarray = kind == static_cast<int>(Deregistration::whole) ? find(*token) : nullptr;
  settle();
  if (coarray) deregister_coarray(*coarray);
  const ListRepair repair(*token);
  const LibcafTurn inside;
  libcaf().next_deregister(token, kind, stat, errmsg, length);
}

}  // namespace sill::coarray
