/* Segments of many large pages: their addresses agree with their place in the file, and every byte is where it should
 * be, for all ways to get a window. */
#include <stdint.h>

#include "windows.h"

enum { bytes_each = (64 << 20) + 24, large_page = 2 << 20 };

static unsigned char value_of(int rank, size_t at) { return (unsigned char)(rank * 31 + at * 7 + at / 4096); }

/* All bytes near both ends, and one of each page or so between them. */
static size_t next_place(size_t at) { return at < large_page || at + large_page >= bytes_each ? at + 1 : at + 4093; }

/* The kernel maps stretches of 2 MiB at once only where address and offset agree. */
static void check_address(const window_kind* kind, const void* base) {
  const int whole_file = strcmp(kind->name, "file per rank") == 0 || strcmp(kind->name, "shared, noncontig") == 0 ||
                         strcmp(kind->name, "created") == 0;
  if (with_sill() && whole_file) CHECK_EQ((uintptr_t)base % large_page, 0);
}

static void try_kind(const window_kind* kind, int rank, int size) {
  unsigned char* base = NULL;
  MPI_Win win = open_window(kind, bytes_each, 1, MPI_COMM_WORLD, &base);
  check_address(kind, base);
  const int right = (rank + 1) % size;
  unsigned char* mine = malloc(bytes_each);
  CHECK(mine != NULL);
  memset(mine, 0, bytes_each);
  for (size_t i = 0; i < bytes_each; i = next_place(i)) mine[i] = value_of(right, i);
  MPI_Win_fence(0, win);
  MPI_Put(mine, bytes_each, MPI_BYTE, right, 0, bytes_each, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  for (size_t i = 0; i < bytes_each; i = next_place(i))
    if (base[i] != value_of(rank, i)) check_failed(__FILE__, __LINE__, "byte %zu is wrong after a put", i);
  memset(mine, 0, bytes_each);
  MPI_Get(mine, bytes_each, MPI_BYTE, right, 0, bytes_each, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  for (size_t i = 0; i < bytes_each; i = next_place(i))
    if (mine[i] != value_of(right, i)) check_failed(__FILE__, __LINE__, "byte %zu is wrong after a get", i);
  free(mine);
  close_window(kind, &win);
}

/* MPICH 4.0 ends fences before puts of megabytes into its own shared windows are there. */
static int is_broken(const window_kind* kind) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
  return is_memory(kind);
#else
  (void)kind;
  return 0;
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < window_kind_count; ++i)
    if (kind_tried(i, MPI_COMM_WORLD) && !is_broken(&window_kinds[i])) try_kind(&window_kinds[i], rank, size);
  MPI_Finalize();
  return 0;
}
