#pragma once
// What gfortran and OpenCoarrays' libcaf agree on: the one place that knows the layout of either. Written for gfortran
// 8 to 14 (tested with 12) and OpenCoarrays 2.10. GCC 15 calls other data movers, by accessors, which pass Sill by;
// registration and synchronization are the same there.
#include <mpi.h>

#include <cstddef>

namespace sill::coarray {

using Token = void*;
using Team = void*;

enum class Registration : int {
  static_coarray = 0,
  allocatable_coarray = 1,
  static_lock = 2,
  allocatable_lock = 3,
  critical = 4,
  static_event = 5,
  allocatable_event = 6,
  component = 7,         // of a coarray of derived type: a token alone
  component_memory = 8,  // memory for such a token
};

enum class Deregistration : int { whole = 0, memory_only = 1 };

constexpr int type_derived = 5;
constexpr int type_class = 7;
constexpr int most_dimensions = 15;

struct Dimension {
  std::ptrdiff_t stride;
  std::ptrdiff_t lower;
  std::ptrdiff_t upper;
};

struct Descriptor {
  void* data;
  std::size_t offset;
  struct {
    std::size_t element_length;
    int version;
    signed char rank;
    signed char type;
    signed short attribute;
  } type;
  std::ptrdiff_t span;  // bytes that a stride of 1 stands for

  // As many as the rank says follow.
  const Dimension* dimensions() const { return reinterpret_cast<const Dimension*>(this + 1); }
};

// One entry per dimension; `count` 0 stands for a triplet.
struct VectorSubscript {
  struct Vector {
    void* values;
    int kind;
  };
  struct Triplet {
    std::ptrdiff_t lower, upper, stride;
  };
  std::size_t count;
  union {
    Vector vector;
    Triplet triplet;
  };
};

enum class ReferenceKind : int { component, array, static_array };
enum class Subscript : unsigned char { none, vector, full, range, single, open_end, open_start };

// A chain of these leads from a coarray to a part of it.
struct Reference {
  struct Component {
    std::ptrdiff_t offset;
    std::ptrdiff_t token_offset;  // 0: neither allocatable nor a pointer
  };
  struct Array {
    unsigned char mode[most_dimensions];
    int static_type;
    union {
      struct {
        std::ptrdiff_t start, end, stride;
      } range;
      struct {
        void* values;
        std::size_t count;
        int kind;
      } vector;
    } dim[most_dimensions];
  };
  Reference* next;
  int kind;
  std::size_t item_size;
  union {
    Component component;
    Array array;
  };
};

// What libcaf hangs behind a token of the first kinds.
struct LibcafToken {
  void* memory;
  MPI_Win window;
  Descriptor* descriptor;
};

// A list libcaf keeps of them, newest first; `caf_allocated_tokens` is its head.
struct LibcafTokenList {
  Token token;
  LibcafTokenList* older;
};

}  // namespace sill::coarray

// Functions of libcaf that Sill stands in front of or calls: name, parameters.
#define SILL_CAF_CALLS(X)                                                                                            \
  X(init, void, (int* argc, char*** argv))                                                                           \
  X(finalize, void, (void))                                                                                          \
  X(register, void,                                                                                                  \
    (std::size_t size, int kind, Token* token, Descriptor* descriptor, int* stat, char* errmsg, std::size_t length)) \
  X(deregister, void, (Token * token, int kind, int* stat, char* errmsg, std::size_t length))                        \
  X(sync_all, void, (int* stat, char* errmsg, std::size_t length))                                                   \
  X(sync_images, void, (int count, int* images, int* stat, char* errmsg, std::size_t length))                        \
  X(change_team, void, (Team * team, int unused))                                                                    \
  X(end_team, void, (Team * team))                                                                                   \
  X(team_number, int, (Team * team))                                                                                 \
  X(stop_numeric, void, (int code, bool quiet))                                                                      \
  X(stop_str, void, (const char* text, std::size_t length, bool quiet))                                              \
  X(send, void,                                                                                                      \
    (Token token, std::size_t offset, int image, Descriptor* to, VectorSubscript* subscript, Descriptor* from,       \
     int to_kind, int from_kind, bool may_overlap, int* stat, Team* team))                                           \
  X(get, void,                                                                                                       \
    (Token token, std::size_t offset, int image, Descriptor* from, VectorSubscript* subscript, Descriptor* to,       \
     int from_kind, int to_kind, bool may_overlap, int* stat))                                                       \
  X(sendget, void,                                                                                                   \
    (Token to_token, std::size_t to_offset, int to_image, Descriptor* to, VectorSubscript* to_subscript,             \
     Token from_token, std::size_t from_offset, int from_image, Descriptor* from, VectorSubscript* from_subscript,   \
     int to_kind, int from_kind, bool may_overlap, int* stat))                                                       \
  X(send_by_ref, void,                                                                                               \
    (Token token, int image, Descriptor* from, Reference* references, int to_kind, int from_kind, bool may_overlap,  \
     bool reallocates, int* stat, int to_type))                                                                      \
  X(get_by_ref, void,                                                                                                \
    (Token token, int image, Descriptor* to, Reference* references, int to_kind, int from_kind, bool may_overlap,    \
     bool reallocates, int* stat, int from_type))                                                                    \
  X(sendget_by_ref, void,                                                                                            \
    (Token to_token, int to_image, Reference* to_references, Token from_token, int from_image,                       \
     Reference* from_references, int to_kind, int from_kind, bool may_overlap, int* to_stat, int* from_stat,         \
     int to_type, int from_type))
