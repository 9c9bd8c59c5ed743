/* err_alloc CLASS FILENAME BYTES [KEY=VALUE...]: allocating there must fail with that class, whether all ranks name the
 * file or the last one only; the others' files must not be there afterwards.
 */
#include "errors.h"
#include "files.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc >= 4);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const int before = entries_in(scratch());
  for (int all = size == 1; all < 2; all++) {
    check_context = all ? "on all ranks" : "on the last rank";
    MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/good.%r");
    const int concerned = all || rank == size - 1;
    if (concerned) MPI_Info_set(info, "storage_alloc_filename", argv[2]);
    for (int i = 4; i < argc; i++) {
      char* pair = strdup(argv[i]);
      char* value = strchr(pair, '=');
      CHECK(value != NULL);
      *value = '\0';
      if (concerned || strcmp(pair, "storage_alloc_offset") != 0) MPI_Info_set(info, pair, value + 1);
      free(pair);
    }
    /* A path may be long and the message cut: its beginning will do. */
    char path[40];
    snprintf(path, sizeof path, "%s", argv[2]);
    if (strchr(path, '%')) *strchr(path, '%') = '\0';
    expect_error(info, atoll(argv[3]), class_named(argv[1]), "storage_alloc_filename", path);
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(entries_in(scratch()), before);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
