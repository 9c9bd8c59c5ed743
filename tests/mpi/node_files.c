/* node_files FILE RANKS|refused BYTES: a window of BYTES a rank, all in FILE, which holds those of RANKS ranks as this
 * rank sees it; or nobody gets the window, and the message names this FILE.
 */
#include "errors.h"
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 4);
  const char* file = argv[1];
  const MPI_Aint bytes = atoll(argv[3]);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), target = (rank + 1) % size;
  MPI_Info info = make_info("alloc_type=storage");
  MPI_Info_set(info, "storage_alloc_filename", file);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(argv[2], "refused") == 0) {
    fail_once(info, bytes, MPI_ERR_BAD_FILE, "on node", file);
    /* What was mapped by then is memory again, and the MPI library's. */
    char line[4096];
    FILE* maps = fopen("/proc/self/maps", "re");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps)) CHECK_SAY(!strstr(line, file), "still mapped: %s", line);
    fclose(maps);
    CHECK_EQ(file_size(file), -1);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
  }
  const int ranks = atoi(argv[2]);
  unsigned char* base = NULL;
  MPI_Win win = MPI_WIN_NULL;
  CHECK_EQ(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win), MPI_SUCCESS);
  MPI_Info_free(&info);
  struct stat found;
  CHECK_EQ(stat(file, &found), 0);
  printf("inode %llu\n", (unsigned long long)found.st_ino);
  CHECK_EQ(file_size(file), bytes * ranks);
  unsigned char* mine = malloc((size_t)bytes);
  fill_pattern(mine, bytes, rank, 1);
  MPI_Win_fence(0, win);
  MPI_Put(mine, (int)bytes, MPI_BYTE, target, 0, (int)bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  const int place = rank % ranks; /* nodes have equally many, consecutive ranks */
  read_file(file, place * bytes, mine, bytes);
  check_pattern(mine, 0, bytes, (rank + size - 1) % size, 1);
  free(mine);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  MPI_Finalize();
  return 0;
}
