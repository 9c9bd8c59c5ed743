/* Files of windows on real nodes (variant `nodes`): /tmp is another folder on each, with the same name; the scratch
 * folder is common to all. Who shares which store, whose bytes lie where, and an error that only one node has.
 */
#include "errors.h"
#include "files.h"
#include "splits.h"

enum { BYTES = 5000 }; /* no multiple of a page: ranks share pages of one file */

static int rank, ranks, node, nodes, place, per_node;

/* Which node this is, and which of its ranks; ranks lie on nodes by blocks. */
static void find_nodes(void) {
  MPI_Comm comm;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  place = rank_in(comm);
  per_node = size_of(comm);
  MPI_Comm_free(&comm);
  node = rank / per_node;
  nodes = ranks / per_node;
  CHECK_EQ(place, rank % per_node);
}

static MPI_Win open_file(const char* name, const char* more, unsigned char** base) {
  char hints[512];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=%s %s", name, more);
  MPI_Info info = make_info(hints);
  MPI_Win win;
  MPI_Win_allocate(BYTES, 1, info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

/* Every rank writes the segment of the one that lies as many ranks behind it; so all of it crosses from node to node.
 */
static void write_others(MPI_Win win, int distance, int round) {
  unsigned char bytes[BYTES];
  const int target = (rank + distance) % ranks;
  fill_pattern(bytes, BYTES, target, round);
  MPI_Win_fence(0, win);
  MPI_Put(bytes, BYTES, MPI_BYTE, target, 0, BYTES, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(sill_win_sync_all(win), MPI_SUCCESS);
}

/* The file holds the segments of `count` ranks from `first` on and nothing else. */
static void check_file(const char* path, int first, int count, int round) {
  CHECK_EQ(file_size(path), (long long)count * BYTES);
  unsigned char bytes[BYTES];
  for (int i = 0; i < count; i++) {
    read_file(path, (long long)i * BYTES, bytes, BYTES);
    check_pattern(bytes, 0, BYTES, first + i, round);
  }
}

/* A file of `count` ranks, from the rank `first` on: written from everywhere, freed, opened again, and taken away. */
static void check_window(const char* context, const char* name, const char* path, int first, int count) {
  check_context = context;
  unsigned char* base = NULL;
  MPI_Win win = open_file(name, "", &base);
  CHECK_EQ(base[BYTES - 1], 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int distance = 1; distance <= per_node; distance += per_node - 1) {
    write_others(win, distance, distance);
    check_pattern(base, 0, BYTES, rank, distance);
    check_file(path, first, count, distance);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  fill_pattern(base, BYTES, rank, 9);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  check_file(path, first, count, 9);

  win = open_file(name, "storage_alloc_unlink=true", &base);
  int restored = 0;
  CHECK_EQ(sill_win_get_restored(win, &restored), MPI_SUCCESS);
  CHECK(restored);
  check_pattern(base, 0, BYTES, rank, 9);
  MPI_Win_free(&win);
  CHECK_EQ(file_size(path), -1);
}

static void must_fail(const char* name, int error_class) {
  check_context = name;
  char hints[512];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=%s", name);
  MPI_Info info = make_info(hints);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect_error(info, BYTES, error_class, "storage_alloc_filename", name);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Info_free(&info);
}

/* What only the last node has wrong, all ranks learn; nothing is left on the nodes that had it right. */
static void check_errors(void) {
  if (place == 0 && node < nodes - 1) CHECK_EQ(mkdir("/tmp/some", 0755), 0);
  if (place == 0 && node == nodes - 1) CHECK_EQ(mkdir("/tmp/folder", 0755), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  must_fail("/tmp/some/w", MPI_ERR_NO_SUCH_FILE);
  must_fail("/tmp/folder", MPI_ERR_BAD_FILE);
  if (node < nodes - 1) CHECK_EQ(entries_in("/tmp/some"), 0);
  if (node < nodes - 1) CHECK_EQ(file_size("/tmp/folder"), -1);
}

static void check_splits(void) {
  check_context = "splits";
  static const char* const methods[] = {"auto", "exhaustive"};
  for (int i = 0; i < 2; i++) {
    CHECK_EQ(split_must_give("/tmp", methods[i], node).store_count, nodes);
    CHECK_EQ(split_must_give(scratch(), methods[i], 0).store_count, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  ranks = size_of(MPI_COMM_WORLD);
  find_nodes();
  CHECK_EQ(nodes, 2);
  CHECK_EQ(per_node, 2);
  check_splits();
  char own[64];
  snprintf(own, sizeof own, "/tmp/w.%d", rank);
  check_window("a file for each rank", "/tmp/w.%r", own, rank, 1);
  check_window("a file for each node", "/tmp/w", "/tmp/w", node * per_node, per_node);
  check_window("one file", "@/w", in_scratch("w", 0), 0, ranks);
  check_errors();
  MPI_Finalize();
  return 0;
}
