/* Where a segment's bytes lie in the file: raw, at the offset, nothing else touched. Each layout is checked by another
 * rank that reads the file with pread after a sync, and once more after the window is gone.
 */
#include "files.h"

static int rank, size;

typedef enum { OWN_FILES, CONSECUTIVE, OVERLAP } sharing;

typedef struct {
  const char* name;
  sharing how;
  long long offset;
  MPI_Aint bytes;
} layout;

static const layout layouts[] = {
    {"own files", OWN_FILES, 0, 65536},
    {"own files, 1000 bytes", OWN_FILES, 0, 1000},
    {"own files at 100", OWN_FILES, 100, 1000},
    {"own files at a page", OWN_FILES, 65536, 70000},
    {"own files, one byte", OWN_FILES, 4095, 1},
    {"one file", CONSECUTIVE, 0, 65536},
    {"one file, 1000 bytes", CONSECUTIVE, 0, 1000},
    {"one file at 100, 1000 bytes", CONSECUTIVE, 100, 1000},
    {"one file at 65537, 12345 bytes", CONSECUTIVE, 65537, 12345},
    {"one file, 4 bytes", CONSECUTIVE, 0, 4},
    {"one file at 4094, 4 bytes", CONSECUTIVE, 4094, 4},
    {"overlapping at 8192", OVERLAP, 8192, 10000},
    {"overlapping at 100", OVERLAP, 100, 1000},
};

static const char* path_of(const layout* l, int r) {
  return l->how == OWN_FILES ? in_scratch("own.%d", r) : in_scratch("one", 0);
}

static long long offset_of(const layout* l, int r) { return l->offset + (l->how == CONSECUTIVE ? r * l->bytes : 0); }

/* In an overlapping window all ranks see the bytes of the last rank that wrote: rank 0 here. */
static int writer_of(const layout* l, int r) { return l->how == OVERLAP ? 0 : r; }

static MPI_Win open_layout(const layout* l, unsigned char** base, const char* more) {
  char hints[512];
  snprintf(hints, sizeof hints,
           "alloc_type=storage storage_alloc_filename=@/%s storage_alloc_offset=%lld storage_alloc_layout=%s %s",
           l->how == OWN_FILES ? "own.%r" : "one", l->offset, l->how == OVERLAP ? "overlap" : "consecutive", more);
  MPI_Info info = make_info(hints);
  MPI_Win win;
  MPI_Win_allocate(l->bytes, 1, info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

/* A neighbour's segment, and the bytes around the segments, as the file has them. */
static void check_file(const layout* l, int round, long long before, long long after) {
  const int other = (rank + 1) % size;
  unsigned char* bytes = malloc(l->bytes);
  read_file(path_of(l, other), offset_of(l, other), bytes, l->bytes);
  check_pattern(bytes, 0, l->bytes, writer_of(l, other), round);
  free(bytes);
  const int last = l->how == CONSECUTIVE ? size - 1 : other;
  const long long end = offset_of(l, last) + l->bytes;
  CHECK_EQ(file_size(path_of(l, other)), end + after);
  for (long long i = 0; i < before + after; i++) {
    unsigned char byte = 0;
    read_file(path_of(l, other), i < before ? i : end + i - before, &byte, 1);
    CHECK_EQ(byte, 0xEE);
  }
}

static void write_all(const layout* l, MPI_Win win, unsigned char* base, int round) {
  if (writer_of(l, rank) == rank) fill_pattern(base, l->bytes, rank, round);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A file that is there already, with bytes before and behind what the window will take. */
static void run(const layout* l) {
  check_context = l->name;
  const long long before = l->offset < 64 ? l->offset : 64, after = 64;
  const long long end = l->offset + l->bytes * (l->how == CONSECUTIVE ? size : 1);
  if (l->how == OWN_FILES || rank == 0) write_file(path_of(l, rank), 0, 0xEE, end + after);
  MPI_Barrier(MPI_COMM_WORLD);

  unsigned char* base = NULL;
  MPI_Win win = open_layout(l, &base, "");
  for (int i = 0; i < l->bytes; i += 97) CHECK_EQ(base[i], 0xEE); /* what the file held is there */
  MPI_Barrier(MPI_COMM_WORLD);
  write_all(l, win, base, 1);
  check_file(l, 1, before, after);
  MPI_Barrier(MPI_COMM_WORLD);

  /* What comes from another rank ends up in the file as well. */
  if (l->how != OVERLAP) {
    unsigned char* bytes = malloc(l->bytes);
    const int target = (rank + 1) % size;
    fill_pattern(bytes, l->bytes, target, 2);
    MPI_Win_fence(0, win);
    MPI_Put(bytes, (int)l->bytes, MPI_BYTE, target, 0, (int)l->bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    free(bytes);
    check_pattern(base, 0, l->bytes, rank, 2);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(l, 2, before, after);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  /* Freeing writes out what no sync has covered. */
  if (writer_of(l, rank) == rank) fill_pattern(base, l->bytes, rank, 3);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  check_file(l, 3, before, after);
  MPI_Barrier(MPI_COMM_WORLD);

  /* And with `unlink`, the file goes, and its sidecar. */
  win = open_layout(l, &base, "storage_alloc_unlink=true");
  check_pattern(base, 0, l->bytes, writer_of(l, rank), 3);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(entries_in(scratch()), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) run(&layouts[i]);
  MPI_Finalize();
  return 0;
}
