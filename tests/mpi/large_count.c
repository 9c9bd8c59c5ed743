/* The `_c` forms of MPI 4: allocation, query and every RMA call on a storage window. */
#include "files.h"
#include "windows.h"

#if MPI_VERSION >= 4

enum { count = 1000 };

static void operations(MPI_Win win, const long* mine, int rank, int size) {
  const int target = (rank + 1) % size, from = (rank + size - 1) % size;
  long sent[count], got[count], old[count];
  for (int i = 0; i < count; i++) sent[i] = 10000 * rank + i;
  MPI_Win_fence(0, win);
  MPI_Put_c(sent, count, MPI_LONG, target, 0, count, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) CHECK_EQ(mine[i], 10000 * from + i);
  MPI_Win_fence(0, win);
  MPI_Accumulate_c(sent, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Get_c(got, count, MPI_LONG, target, 0, count, MPI_LONG, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) CHECK_EQ(got[i], 2 * sent[i]);
  MPI_Get_accumulate_c(sent, count, MPI_LONG, old, count, MPI_LONG, target, 0, count, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < count; i++) CHECK_EQ(old[i], 2 * sent[i]);

  MPI_Request requests[2];
  MPI_Win_lock_all(0, win);
  MPI_Rget_c(got, count, MPI_LONG, target, 0, count, MPI_LONG, win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int i = 0; i < count; i++) CHECK_EQ(got[i], 3 * sent[i]);
  MPI_Rput_c(sent, 1, MPI_LONG, target, count, 1, MPI_LONG, win, &requests[0]);
  MPI_Raccumulate_c(sent, 1, MPI_LONG, target, count + 1, 1, MPI_LONG, MPI_REPLACE, win, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Win_flush_all(win);
  MPI_Rget_accumulate_c(sent, 1, MPI_LONG, old, 1, MPI_LONG, target, count, 1, MPI_LONG, MPI_NO_OP, win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  CHECK_EQ(old[0], sent[0]);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD);
  const MPI_Aint bytes = (count + 2) * sizeof(long);
  MPI_Info info = make_info("alloc_type=storage storage_alloc_filename=@/w%w.%r");
  long* mine = NULL;
  MPI_Win win;

  check_context = "allocate_c";
  MPI_Win_allocate_c(bytes, sizeof(long), info, MPI_COMM_WORLD, &mine, &win);
  operations(win, mine, rank, size);
  MPI_Win_free(&win);
  if (with_sill()) CHECK_EQ(file_size(in_scratch("w0.%d", rank)), bytes);

  if (on_one_node(MPI_COMM_WORLD)) {
    check_context = "allocate_shared_c";
    MPI_Win_allocate_shared_c(bytes, sizeof(long), info, MPI_COMM_WORLD, &mine, &win);
    MPI_Aint told = 0, unit = 0;
    long* where = NULL;
    MPI_Win_shared_query_c(win, rank, &told, &unit, &where);
    CHECK(told == bytes && unit == sizeof(long) && where == mine);
    operations(win, mine, rank, size);
    MPI_Win_free(&win);
  }

  check_context = "create_c";
  MPI_Alloc_mem(bytes, info, &mine);
  MPI_Win_create_c(mine, bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  operations(win, mine, rank, size);
  MPI_Win_free(&win);
  MPI_Free_mem(mine);
  if (with_sill()) CHECK_EQ(file_size(in_scratch("wm0.%d", rank)), bytes);
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}

#else

int main(void) {
  MPI_Init(NULL, NULL);
  skip("this MPI has no _c functions");
}

#endif
