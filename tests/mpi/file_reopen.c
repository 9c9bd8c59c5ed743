/* A window opened again has what the file held; a file too short is grown, never cut. Offsets and sizes unaligned. */
#include "files.h"

static int rank, size;

static MPI_Win open_part(const char* name, long long offset, MPI_Aint bytes, unsigned char** base) {
  char hints[256];
  snprintf(hints, sizeof hints, "alloc_type=storage storage_alloc_filename=@/%s storage_alloc_offset=%lld", name,
           offset);
  MPI_Info info = make_info(hints);
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

static void own_file(void) {
  check_context = "own file";
  const char* path = in_scratch("own.%d", rank);
  unsigned char* base = NULL;
  MPI_Win win = open_part("own.%r", 0, 20001, &base);
  for (int i = 0; i < 20001; i++) CHECK_EQ(base[i], 0); /* a new file reads as zeros */
  fill_pattern(base, 20001, rank, 1);
  MPI_Win_free(&win);
  CHECK_EQ(file_size(path), 20001);

  check_context = "a part of it";
  win = open_part("own.%r", 5003, 777, &base);
  check_pattern(base, 5003, 777, rank, 1);
  memset(base, 0xAB, 777);
  MPI_Win_free(&win);
  CHECK_EQ(file_size(path), 20001);

  check_context = "more than it";
  win = open_part("own.%r", 1, 50000, &base);
  check_pattern(base, 1, 5002, rank, 1);
  for (int i = 5002; i < 5002 + 777; i++) CHECK_EQ(base[i], 0xAB);
  check_pattern(base + 5779, 5780, 20001 - 5780, rank, 1);
  for (int i = 20000; i < 50000; i++) CHECK_EQ(base[i], 0);
  base[49999] = 0xCD;
  MPI_Win_free(&win);
  CHECK_EQ(file_size(path), 50001);
  unsigned char last = 0;
  read_file(path, 50000, &last, 1);
  CHECK_EQ(last, 0xCD);
}

/* Written as one file by all, then read with another number of bytes per rank. */
static void one_file(void) {
  check_context = "one file";
  unsigned char* base = NULL;
  MPI_Win win = open_part("one", 10, 3000, &base);
  for (int i = 0; i < 3000; i++) base[i] = pattern(7, (size_t)rank * 3000 + i, 4);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);

  check_context = "one file in other parts";
  const MPI_Aint mine = rank == 0 ? 3000L * size - (size - 1) * 1001L : 1001;
  const size_t first = rank == 0 ? 0 : 3000UL * size - (size_t)(size - rank) * 1001;
  win = open_part("one", 10, mine, &base);
  check_pattern(base, first, mine, 7, 4);
  MPI_Win_free(&win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(file_size(in_scratch("one", 0)), 10 + 3000L * size);
}

/* Two live windows share a file as long as their bytes don't meet. */
static void side_by_side(void) {
  check_context = "side by side";
  unsigned char *low = NULL, *high = NULL;
  MPI_Win first = open_part("two.%r", 0, 5000, &low), second = open_part("two.%r", 5000, 5000, &high);
  fill_pattern(low, 5000, rank, 5);
  for (int i = 0; i < 5000; i++) high[i] = pattern(rank, 5000 + i, 5);
  MPI_Win_free(&first);
  check_pattern(high, 5000, 5000, rank, 5);
  MPI_Win_free(&second);
  unsigned char bytes[10000];
  read_file(in_scratch("two.%d", rank), 0, bytes, sizeof bytes);
  check_pattern(bytes, 0, sizeof bytes, rank, 5);

  check_context = "on top of each other";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  first = open_part("two.%r", 0, 5000, &low);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/two.%r storage_alloc_offset=4999");
  const int code = MPI_Win_allocate(5000, 1, info, MPI_COMM_WORLD, &high, &second);
  CHECK_EQ(class_of(code), MPI_ERR_FILE_IN_USE);
  MPI_Info_free(&info);
  check_pattern(low, 0, 5000, rank, 5);
  MPI_Win_free(&first);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  own_file();
  one_file();
  side_by_side();
  MPI_Finalize();
  return 0;
}
