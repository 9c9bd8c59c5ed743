/* generations LOG LAST HINT...: fills a window with a generation's number, syncs, notes the completed sync in LOG, and
 * goes on with the next, up to LAST or until it is killed. Started again, it goes on from what the storage holds.
 *
 * A word of the window is GENERATION << 32 | RANK << 24 | INDEX. A line of the log is "RANK GENERATION\n", written in
 * one piece after the sync has returned; LOG lies outside of what is killed or cut. The ranks keep step, so when a
 * rank's last line is G, its words are of generation G or G + 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "../mpi/check.h"

enum { words = 1 << 15 };

static int rank, size;

static uint64_t word(uint64_t generation, int owner, uint64_t index) {
  return generation << 32 | (uint64_t)owner << 24 | index;
}

static MPI_Win open_window(int argc, char** argv, uint64_t** base) {
  MPI_Info info = make_info("alloc_type=storage");
  for (int i = 3; i < argc; i++) {
    char* value = strchr(argv[i], '=');
    CHECK(value != NULL);
    *value = '\0';
    MPI_Info_set(info, argv[i], value + 1);
    *value = '=';
  }
  MPI_Win win;
  MPI_Win_allocate(words * sizeof(uint64_t), sizeof(uint64_t), info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

/* The newest generation of which any rank's storage holds a word. */
static long newest(const uint64_t* mine) {
  long own = 0, all = 0;
  for (int i = 0; i < words; i++) own = (long)(mine[i] >> 32) > own ? (long)(mine[i] >> 32) : own;
  MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

/* The first half by stores, the second by a put into the next rank's segment. */
static void write_generation(MPI_Win win, uint64_t* mine, uint64_t generation) {
  static uint64_t sent[words / 2];
  const int target = (rank + 1) % size;
  for (int i = 0; i < words / 2; i++) sent[i] = word(generation, target, words / 2 + i);
  MPI_Win_fence(0, win);
  for (int i = 0; i < words / 2; i++) mine[i] = word(generation, rank, i);
  MPI_Put(sent, words / 2, MPI_UINT64_T, target, words / 2, words / 2, MPI_UINT64_T, win);
  MPI_Win_fence(0, win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc > 3);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  const int log = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  CHECK_SAY(log >= 0, "can't open %s: %s", argv[1], strerror(errno));
  uint64_t* mine = NULL;
  MPI_Win win = open_window(argc, argv, &mine);
  const long last = atol(argv[2]);
  for (long generation = newest(mine) + 1; generation <= last; generation++) {
    write_generation(win, mine, generation);
    CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
    char line[64];
    const int length = snprintf(line, sizeof line, "%d %ld\n", rank, generation);
    CHECK_EQ(write(log, line, length), length);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
  CHECK_EQ(close(log), 0);
  MPI_Finalize();
  return 0;
}
