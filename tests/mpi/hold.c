/* hold FILENAME BYTES [KEY=VALUE...]: has a window there until rank 0 reads a line. Says "held"
 * when it has the window, and checks in the end that nobody else wrote to it. A file that is only read must be all
 * zeros.
 */
#include "files.h"

static void check_zeros(const unsigned char* bytes, MPI_Aint count) {
  for (MPI_Aint i = 0; i < count; i++) CHECK_EQ(bytes[i], 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc >= 3);
  const int rank = rank_in(MPI_COMM_WORLD);
  const MPI_Aint bytes = atoll(argv[2]);
  int readonly = 0;
  MPI_Info info = make_info("alloc_type=storage");
  MPI_Info_set(info, "storage_alloc_filename", argv[1]);
  for (int i = 3; i < argc; i++) {
    readonly |= strcmp(argv[i], "storage_alloc_readonly=true") == 0;
    char* value = strchr(argv[i], '=');
    CHECK(value != NULL);
    *value = '\0';
    MPI_Info_set(info, argv[i], value + 1);
  }
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Info_free(&info);
  if (readonly) check_zeros(base, bytes);
  if (!readonly) fill_pattern(base, bytes, rank, 1);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("held\n");
    fflush(stdout);
    for (int c = getchar(); c != EOF && c != '\n';) c = getchar();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (readonly) check_zeros(base, bytes);
  if (!readonly) check_pattern(base, 0, bytes, rank, 1);
  MPI_Win_free(&win);
  MPI_Finalize();
  return 0;
}
