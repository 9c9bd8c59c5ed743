/* storage_alloc_readonly: what is there can be read by any number of windows, nothing can be written, and the file and
 * its folder stay as they were.
 */
#include "errors.h"
#include "files.h"

static int rank, size;
enum { bytes = 3 * 4096 + 100, round_written = 1 };

static MPI_Win open_with(const char* hints, unsigned char** base) {
  return open_storage("storage_alloc_filename=@/data storage_alloc_readonly=true", hints, bytes, base);
}

static void refused(const char* hints, MPI_Aint count, int error_class, const char* key) {
  check_context = hints;
  MPI_Info info = make_info(hints);
  MPI_Info_set(info, "alloc_type", "storage");
  expect_error(info, count, error_class, key, NULL);
  MPI_Info_free(&info);
  CHECK_EQ(entries_in(scratch()), 1);
}

static void errors(void) {
  refused("storage_alloc_readonly=true storage_alloc_filename=@/missing", bytes, MPI_ERR_NO_SUCH_FILE, "missing");
  refused("storage_alloc_readonly=true storage_alloc_filename=@/data", bytes + 1, MPI_ERR_BAD_FILE, "readonly");
  refused("storage_alloc_readonly=true storage_alloc_filename=@/data storage_alloc_unlink=true", bytes,
          MPI_ERR_INFO_VALUE, "unlink");
  refused("storage_alloc_readonly=true storage_alloc_filename=@/data storage_alloc_factor=0.5", bytes,
          MPI_ERR_INFO_VALUE, "factor");
  refused("storage_alloc_readonly=true storage_alloc_filename=@/data storage_alloc_factor=auto", bytes,
          MPI_ERR_INFO_VALUE, "factor");
  if (size == 1) return;
  refused(rank == 0 ? "storage_alloc_readonly=true storage_alloc_filename=@/data" : "storage_alloc_filename=@/data",
          bytes, MPI_ERR_INFO_VALUE, "readonly");
}

/* All reads there are, from the next rank's part. */
static void reads(MPI_Win win, const unsigned char* base, int overlap) {
  const int next = (rank + 1) % size;
  check_pattern(base, 0, bytes, overlap ? 0 : rank, round_written);
  unsigned char got[bytes], element = 0, unused = 0;
  MPI_Request request;
  MPI_Win_lock_all(0, win);
  MPI_Get(got, bytes, MPI_BYTE, next, 0, bytes, MPI_BYTE, win);
  MPI_Win_flush(next, win);
  check_pattern(got, 0, bytes, overlap ? 0 : next, round_written);
  memset(got, 0, bytes);
  MPI_Rget(got, 50, MPI_BYTE, next, 4100, 50, MPI_BYTE, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_pattern(got, 4100, 50, overlap ? 0 : next, round_written);
  CHECK_EQ(MPI_Fetch_and_op(&unused, &element, MPI_BYTE, next, 77, MPI_NO_OP, win), MPI_SUCCESS);
  MPI_Win_flush(next, win);
  CHECK_EQ(element, pattern(overlap ? 0 : next, 77, round_written));
  MPI_Win_unlock_all(win);
}

/* All writes there are: an error each, and other windows take them meanwhile. */
static void writes(MPI_Win win) {
  const int next = (rank + 1) % size;
  unsigned char sent[8] = {1}, compared[8] = {0}, result[8];
  MPI_Request request;
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  const int codes[] = {
      MPI_Put(sent, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, win),
      MPI_Rput(sent, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, win, &request),
      MPI_Accumulate(sent, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, MPI_REPLACE, win),
      MPI_Raccumulate(sent, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, MPI_BOR, win, &request),
      MPI_Get_accumulate(sent, 8, MPI_BYTE, result, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, MPI_BOR, win),
      MPI_Rget_accumulate(sent, 8, MPI_BYTE, result, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, MPI_BOR, win, &request),
      MPI_Fetch_and_op(sent, result, MPI_BYTE, next, 0, MPI_BOR, win),
      MPI_Compare_and_swap(sent, compared, result, MPI_BYTE, next, 0, win),
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
    CHECK_SAY(class_of(codes[i]) == MPI_ERR_READ_ONLY, "write %zu: class %d", i, class_of(codes[i]));
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(codes[0], text, &length);
  CHECK_SAY(strstr(text, "MPI_Put") && strstr(text, "data") && strstr(text, "readonly"), "%s", text);
  MPI_Win_unlock_all(win);

  unsigned char* base = NULL;
  MPI_Win other;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/other.%r storage_alloc_unlink=true");
  MPI_Win_allocate(8, 1, info, MPI_COMM_WORLD, &base, &other);
  MPI_Info_free(&info);
  MPI_Win_fence(0, other);
  CHECK_EQ(MPI_Put(sent, 8, MPI_BYTE, next, 0, 8, MPI_BYTE, other), MPI_SUCCESS);
  MPI_Win_fence(0, other);
  CHECK_EQ(base[0], 1);
  MPI_Win_free(&other);
}

static void ends(MPI_Win win) {
  CHECK_EQ(MPI_Win_sync(win), MPI_SUCCESS);
  CHECK_EQ(MPI_Win_free(&win), MPI_SUCCESS);
}

static void windows(void) {
  unsigned char *base = NULL, *also = NULL;
  MPI_Win win = open_with("", &base);
  MPI_Win second = open_with("storage_alloc_layout=overlap", &also);
  reads(win, base, 0);
  reads(second, also, 1);
  writes(win);
  refused("storage_alloc_filename=@/data", bytes, MPI_ERR_FILE_IN_USE, "data");
  ends(second);
  refused("storage_alloc_filename=@/data", bytes, MPI_ERR_FILE_IN_USE, "data");
  MPI_Info unlink = make_info("storage_alloc_unlink=true");
  CHECK_EQ(class_of(MPI_Win_set_info(win, unlink)), MPI_ERR_INFO_VALUE);
  MPI_Info_free(&unlink);
  ends(win);

  /* A copy in memory may be stored to; that stays there. */
  win = open_with("storage_alloc_engine=staged", &base);
  reads(win, base, 0);
  writes(win);
  MPI_Barrier(MPI_COMM_WORLD);
  base[5] = 0;
  ends(win);
}

static void shared(void) {
  check_context = "shared";
  int on_node = 0;
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &on_node);
  if (on_node == size) {
    unsigned char* base = NULL;
    MPI_Win win;
    MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/data storage_alloc_readonly=true");
    MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    reads(win, base, 0);
    writes(win);
    ends(win);
  }
  MPI_Comm_free(&node);
}

static void memory(void) {
  check_context = "memory";
  unsigned char* base = NULL;
  MPI_Win win;
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/data storage_alloc_readonly=true");
  CHECK_EQ(MPI_Alloc_mem(bytes, info, &base), MPI_SUCCESS); /* each rank the first bytes */
  MPI_Info_free(&info);
  check_pattern(base, 0, bytes, 0, round_written);
  if (size > 1) { /* Open MPI 4 can't make such a window for one rank */
    MPI_Win_create(base, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    unsigned char got[bytes];
    MPI_Win_fence(0, win);
    MPI_Get(got, bytes, MPI_BYTE, (rank + 1) % size, 0, bytes, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    check_pattern(got, 0, bytes, 0, round_written);
    ends(win);
  }
  CHECK_EQ(MPI_Free_mem(base), MPI_SUCCESS);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  unsigned char mine[bytes];
  fill_pattern(mine, bytes, rank, round_written);
  const int file = open(in_scratch("data", 0), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  CHECK(file >= 0 && pwrite(file, mine, bytes, (off_t)rank * bytes) == bytes && close(file) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  struct stat before, after;
  CHECK_EQ(stat(in_scratch("data", 0), &before), 0);
  errors();
  windows();
  shared();
  memory();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(stat(in_scratch("data", 0), &after), 0);
  CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  CHECK_EQ(entries_in(scratch()), 1);

  /* While somebody may write, nobody may read. */
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/data");
  unsigned char* base = NULL;
  MPI_Win win;
  CHECK_EQ(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win), MPI_SUCCESS);
  MPI_Info_set(info, "storage_alloc_readonly", "true");
  check_context = "beside a writer";
  expect_error(info, bytes, MPI_ERR_FILE_IN_USE, "data", NULL);
  MPI_Win_free(&win);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
