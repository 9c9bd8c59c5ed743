/* The ways to get a window that the tests of RMA go through, all with the same operations. */
#ifndef SILL_TESTS_WINDOWS_H
#define SILL_TESTS_WINDOWS_H

#include "check.h"

typedef enum { BY_ALLOCATE, BY_ALLOCATE_SHARED, BY_CREATE } window_call;

typedef struct {
  const char* name;
  window_call call;
  const char* hints;
} window_kind;

#define STORAGE "alloc_type=storage storage_alloc_unlink=true "

static const window_kind window_kinds[] = {
    {"file per rank", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/own.%r"},
    {"one file", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/one"},
    {"one file at 100", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/one storage_alloc_offset=100"},
    {"memory first 0.5", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/own.%r storage_alloc_factor=0.5"},
    {"storage first 0.25", BY_ALLOCATE,
     STORAGE "storage_alloc_filename=@/one storage_alloc_factor=0.25 storage_alloc_order=storage_first"},
    {"staged", BY_ALLOCATE, STORAGE "storage_alloc_filename=@/own.%r storage_alloc_engine=staged"},
    {"sparse, random", BY_ALLOCATE,
     STORAGE "storage_alloc_filename=@/own.%r storage_alloc_reserve=sparse access_style=random"},
    {"shared", BY_ALLOCATE_SHARED, STORAGE "storage_alloc_filename=@/one"},
    {"shared, noncontig", BY_ALLOCATE_SHARED, STORAGE "storage_alloc_filename=@/own.%r alloc_shared_noncontig=true"},
    {"created", BY_CREATE, STORAGE "storage_alloc_filename=@/own.%r"},
    {"memory", BY_ALLOCATE, "alloc_type=memory"},
};

enum { window_kind_count = sizeof window_kinds / sizeof window_kinds[0] };

/* Whether all ranks of `comm` share memory: shared windows need it. Collective. */
static inline int on_one_node(MPI_Comm comm) {
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  const int same = size_of(node) == size_of(comm);
  MPI_Comm_free(&node);
  int all = 0;
  MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, comm);
  return all;
}

/* Whether to try this kind with these ranks. More than two ranks take turns on few cores, so they take every third
 * kind each; 3 and 4 and 5 ranks see all. Collective.
 */
static inline int kind_tried(int number, MPI_Comm comm) {
  const window_kind* kind = &window_kinds[number];
  if (size_of(comm) > 2 && number % 3 != size_of(comm) % 3) return 0;
  if (kind->call == BY_ALLOCATE_SHARED && !on_one_node(comm)) return 0;
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  if (kind->call == BY_CREATE && size_of(comm) == 1) return 0; /* Open MPI 4 refuses MPI_Win_create with one rank */
#endif
  return 1;
}

/* What MPI libraries can't do by themselves; found by running these programs without Sill. */
#ifdef OMPI_MAJOR_VERSION
enum { is_openmpi = 1, is_openmpi4 = OMPI_MAJOR_VERSION < 5 };
#else
enum { is_openmpi = 0, is_openmpi4 = 0 };
#endif

/* Whether the window is the MPI library's own business. */
static inline int is_memory(const window_kind* kind) {
  return !with_sill() || strstr(kind->hints, "alloc_type=memory") != NULL;
}

/* MPICH 4.0.2 misplaces puts into windows of its own whose base isn't 16-byte aligned, so their sizes have to be round.
 */
static inline int wants_round_sizes(const window_kind* kind) { return is_memory(kind); }

/* Whether the MPI library below gets to see an MPI_Win_create. */
static inline int made_by_create(const window_kind* kind) {
  const char* path = getenv("SILL_WINDOW_PATH");
  const int forced = path && (strcmp(path, "create") == 0 || strcmp(path, "direct") == 0);
  return kind->call == BY_CREATE || (kind->call == BY_ALLOCATE && forced && !is_memory(kind));
}

/* Open MPI 4 crashes in MPI_Compare_and_swap on all of its own windows but shared ones. */
static inline int swap_is_broken(const window_kind* kind) {
  return is_openmpi4 && (made_by_create(kind) || (kind->call == BY_ALLOCATE && is_memory(kind)));
}

/* Open MPI 4 accumulates derived datatypes wrongly on windows from MPI_Win_create. */
static inline int types_are_broken(const window_kind* kind) { return is_openmpi4 && made_by_create(kind); }

/* Open MPI 4 and 5 lose MPI_LXOR on windows from MPI_Win_create. */
static inline int xor_is_broken(const window_kind* kind) { return is_openmpi && made_by_create(kind); }

/* A window of that kind; sets check_context. Collective over comm. */
static inline MPI_Win open_window(const window_kind* kind, MPI_Aint bytes, int disp_unit, MPI_Comm comm, void* base) {
  check_context = kind->name;
  MPI_Info info = make_info(kind->hints);
  MPI_Win win = MPI_WIN_NULL;
  void* memory = NULL;
  if (kind->call == BY_ALLOCATE) MPI_Win_allocate(bytes, disp_unit, info, comm, &memory, &win);
  if (kind->call == BY_ALLOCATE_SHARED) MPI_Win_allocate_shared(bytes, disp_unit, info, comm, &memory, &win);
  if (kind->call == BY_CREATE) {
    MPI_Alloc_mem(bytes, info, &memory);
    MPI_Win_create(memory, bytes, disp_unit, MPI_INFO_NULL, comm, &win);
  }
  MPI_Info_free(&info);
  memcpy(base, &memory, sizeof memory);
  return win;
}

/* Frees the window, and the memory below it if that was the program's. Collective. */
static inline void close_window(const window_kind* kind, MPI_Win* win) {
  void* base = NULL;
  int found = 0;
  void* value = NULL;
  MPI_Win_get_attr(*win, MPI_WIN_BASE, &value, &found);
  if (found) base = value;
  MPI_Win_free(win);
  if (kind->call == BY_CREATE) MPI_Free_mem(base);
}

#endif
