/* Bad values of known keys, on all ranks and on one: every rank gets the same error class within a second, the message
 * names key and value, and nothing is left behind.
 */
#include "errors.h"
#include "files.h"

static const struct {
  const char *key, *value;
} bad[] = {
    {"alloc_type", "disk"},
    {"alloc_type", "Storage"},
    {"alloc_type", "storage,memory"},
    {"storage_alloc_offset", "-1"},
    {"storage_alloc_offset", "abc"},
    {"storage_alloc_offset", "12abc"},
    {"storage_alloc_offset", "1.5"},
    {"storage_alloc_offset", "0x10"},
    {"storage_alloc_offset", "4 096"},
    {"storage_alloc_offset", "+5"},
    {"storage_alloc_offset", "99999999999999999999999"},
    {"storage_alloc_offset", "18446744073709551615"},
    {"storage_alloc_factor", "1.1"},
    {"storage_alloc_factor", "-0.1"},
    {"storage_alloc_factor", "half"},
    {"storage_alloc_factor", "0.5x"},
    {"storage_alloc_factor", "nan"},
    {"storage_alloc_factor", "inf"},
    {"storage_alloc_factor", "1e400"},
    {"storage_alloc_factor", "0,5"},
    {"storage_alloc_factor", "automatic"},
    {"storage_alloc_order", "memory"},
    {"storage_alloc_order", "storage_last"},
    {"storage_alloc_unlink", "yes"},
    {"storage_alloc_unlink", "2"},
    {"storage_alloc_unlink", "TRUE!"},
    {"storage_alloc_discard", "no way"},
    {"storage_alloc_reserve", "half"},
    {"storage_alloc_engine", "userfaultfd"},
    {"storage_alloc_layout", "interleaved"},
    {"access_style", "sideways"},
    {"access_style", "random,sideways"},
    {"access_style", "random,,sequential"},
    {"file_perm", "888"},
    {"file_perm", "rw-r--r--"},
    {"file_perm", "07777"},
    {"file_perm", "S_IRUSR|S_IDONTKNOW"},
    {"striping_factor", "-2"},
    {"striping_factor", "many"},
    {"striping_unit", "1MiBs"},
    {"striping_unit", "-65536"},
    {"storage_alloc_filename", "@/w%q"},
    {"storage_alloc_filename", "@/w%"},
};

enum { bad_count = sizeof bad / sizeof bad[0] };

/* The usual hints, with one key as the list says on the ranks concerned. */
static MPI_Info hints_with(int i, int concerned) {
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w.%r");
  char value[600];
  snprintf(value, sizeof value, "%s%s", bad[i].value[0] == '@' ? scratch() : "",
           bad[i].value + (bad[i].value[0] == '@'));
  if (concerned) MPI_Info_set(info, bad[i].key, value);
  return info;
}

static void differing(void) {
  static const char* pairs[][2] = {
      {"storage_alloc_order", "storage_first"},
      {"storage_alloc_layout", "overlap"},
      {"storage_alloc_engine", "staged"},
      {"storage_alloc_reserve", "sparse"},
      {"storage_alloc_unlink", "true"},
      {"storage_alloc_discard", "true"},
      {"alloc_type", "memory"},
  };
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int i = 0; size > 1 && i < 7; i++) {
    check_context = pairs[i][0];
    MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w.%r");
    if (rank == size - 1) MPI_Info_set(info, pairs[i][0], pairs[i][1]);
    expect_error(info, 4096, MPI_ERR_INFO_VALUE, pairs[i][0], NULL);
    MPI_Info_free(&info);
    CHECK_EQ(entries_in(scratch()), 0);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  for (int i = 0; i < bad_count; i++) {
    char context[200];
    snprintf(context, sizeof context, "%s=%s", bad[i].key, bad[i].value);
    check_context = context;
    for (int all = size == 1; all < 2; all++) {
      MPI_Info info = hints_with(i, all || rank == size - 1);
      expect_error(info, 4096, MPI_ERR_INFO_VALUE, bad[i].key, NULL);
      MPI_Info_free(&info);
      CHECK_EQ(entries_in(scratch()), 0);
    }
  }
  differing();

  check_context = "no file name";
  for (int all = size == 1; all < 2; all++) {
    MPI_Info info = make_info("alloc_type=storage");
    if (!all && rank < size - 1) MPI_Info_set(info, "storage_alloc_filename", in_scratch("w", 0));
    expect_error(info, 4096, MPI_ERR_INFO_NOKEY, "storage_alloc_filename", NULL);
    MPI_Info_free(&info);
    CHECK_EQ(entries_in(scratch()), 0);
  }

  check_context = "SILL_MEMORY_LIMIT";
  setenv("SILL_MEMORY_LIMIT", "1G", 1);
  MPI_Info limited = make_info("alloc_type=storage storage_alloc_filename=@/w.%r");
  expect_error(limited, 4096, MPI_ERR_INFO_VALUE, "SILL_MEMORY_LIMIT=1G", NULL);
  MPI_Info_free(&limited);
  unsetenv("SILL_MEMORY_LIMIT");
  CHECK_EQ(entries_in(scratch()), 0);

  /* After all that, a good window is a good window. */
  check_context = "afterwards";
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w.%r storage_alloc_unlink=true");
  int* base = NULL;
  MPI_Win win;
  CHECK_EQ(MPI_Win_allocate(4096, 4, info, MPI_COMM_WORLD, &base, &win), MPI_SUCCESS);
  base[1000] = 1;
  CHECK_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
