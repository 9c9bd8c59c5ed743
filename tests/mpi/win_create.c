/* MPI_Alloc_mem on storage below MPI_Win_create and MPI_Win_create_dynamic; plain memory passes through. */
#include "files.h"
#include "windows.h"

enum { bytes = 100000, skipped = 4096 };

static int rank, size;

static unsigned char* alloc(const char* name, MPI_Aint count) {
  char hints[256];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=@/%s", name);
  MPI_Info info = make_info(hints);
  unsigned char* memory = NULL;
  MPI_Alloc_mem(count, info, &memory);
  MPI_Info_free(&info);
  return memory;
}

static void check_file(const char* path, int of, int round) {
  if (!with_sill()) return;
  unsigned char* read = malloc(bytes);
  CHECK_EQ(file_size(path), bytes);
  read_file(path, 0, read, bytes);
  check_pattern(read, 0, bytes, of, round);
  free(read);
}

/* Puts into a window over a part of the memory; the whole memory is on storage. */
static void created(void) {
  check_context = "created";
  unsigned char* memory = alloc("mem.%r", bytes);
  fill_pattern(memory, bytes, rank, 1);
  memset(memory + skipped, 0, 1000);
  MPI_Win win;
  MPI_Win_create(memory + skipped, bytes - skipped, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  const int target = (rank + 1) % size;
  unsigned char part[1000];
  for (int i = 0; i < 1000; i++) part[i] = pattern(target, skipped + i, 1);
  MPI_Win_fence(0, win);
  MPI_Put(part, 1000, MPI_BYTE, target, 0, 1000, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  check_pattern(memory, 0, bytes, rank, 1);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  check_file(in_scratch("mem.%d", target), target, 1);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);

  /* The memory outlives the window, and what it says last is kept. */
  fill_pattern(memory, bytes, rank, 2);
  MPI_Free_mem(memory);
  MPI_Barrier(MPI_COMM_WORLD);
  check_file(in_scratch("mem.%d", target), target, 2);
  memory = alloc("mem.%r", bytes);
  if (with_sill()) check_pattern(memory, 0, bytes, rank, 2);
  MPI_Free_mem(memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Numbers of MPI_Alloc_mem calls count on their own; sizes that are no pages; many at once. */
static void numbered(void) {
  check_context = "numbered";
  unsigned char* memories[20];
  for (int i = 0; i < 20; i++) {
    memories[i] = alloc("%w.%r", 1 + 1000 * i);
    memset(memories[i], i + 1, 1 + 1000 * i);
  }
  for (int i = 0; i < 20; i++) CHECK_EQ(memories[i][1000 * i], i + 1);
  for (int i = 19; i >= 0; i--) MPI_Free_mem(memories[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!with_sill()) return;
  /* Two calls came before these: m0 and m1. */
  char name[64];
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "m%d.%%d", i + 2);
    unsigned char last = 0;
    CHECK_EQ(file_size(in_scratch(name, rank)), 1 + 1000 * i);
    read_file(in_scratch(name, rank), 1000 * i, &last, 1);
    CHECK_EQ(last, i + 1);
  }
}

/* Attached pieces, one on storage and one of the program's own, come and go. */
static void dynamic(void) {
  check_context = "dynamic";
  MPI_Win win;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int round = 1; round <= 3; round++) {
    unsigned char* stored = alloc("dyn.%r", bytes);
    unsigned char* own = malloc(bytes);
    memset(stored, 0, bytes);
    memset(own, 0, bytes);
    CHECK_EQ(MPI_Win_attach(win, stored, bytes), MPI_SUCCESS);
    CHECK_EQ(MPI_Win_attach(win, own, bytes), MPI_SUCCESS);
    MPI_Aint mine[2], *all = malloc(sizeof(MPI_Aint) * 2 * size);
    MPI_Get_address(stored, &mine[0]);
    MPI_Get_address(own, &mine[1]);
    MPI_Allgather(mine, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);

    const int target = (rank + 1) % size;
    unsigned char* sent = malloc(bytes);
    fill_pattern(sent, bytes, target, round);
    MPI_Win_lock_all(0, win);
    for (int piece = 0; piece < 2; piece++) {
      MPI_Put(sent, bytes, MPI_BYTE, target, all[2 * target + piece], bytes, MPI_BYTE, win);
    }
    MPI_Win_flush_all(win);
    memset(sent, 0, bytes);
    MPI_Get(sent, bytes, MPI_BYTE, target, MPI_Aint_add(all[2 * target], 0), bytes, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    check_pattern(sent, 0, bytes, target, round);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    check_pattern(stored, 0, bytes, rank, round);
    check_pattern(own, 0, bytes, rank, round);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    check_file(in_scratch("dyn.%d", target), target, round);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(MPI_Win_detach(win, stored), MPI_SUCCESS);
    CHECK_EQ(MPI_Win_detach(win, own), MPI_SUCCESS);
    MPI_Free_mem(stored);
    free(own);
    free(sent);
    free(all);
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  /* Open MPI 4 refuses MPI_Win_create with one rank. */
  if (is_openmpi4 && size == 1) skip("Open MPI 4 refuses MPI_Win_create with one rank");
  created();
  numbered();
  dynamic();
  MPI_Finalize();
  return 0;
}
