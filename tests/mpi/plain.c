/* plain [windows]: a program that has never heard of storage: two windows and, unless told "windows", some memory of
 * MPI that all ranks have at the same time, no hints. The rules do the rest.
 */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of(MPI_COMM_WORLD), target = (rank + 1) % size;
  MPI_Win wins[2];
  int* bases[2];
  for (int w = 0; w < 2; w++) MPI_Win_allocate(10000, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &bases[w], &wins[w]);
  for (int w = 0; w < 2; w++) {
    MPI_Win_fence(0, wins[w]);
    for (int i = 0; i < 2500; i++) bases[w][i] = 0;
    MPI_Win_fence(0, wins[w]);
    const int value = 1000 * (w + 1) + rank;
    MPI_Put(&value, 1, MPI_INT, target, 2499, 1, MPI_INT, wins[w]);
    MPI_Win_fence(0, wins[w]);
    CHECK_EQ(bases[w][2499], 1000 * (w + 1) + (rank + size - 1) % size);
    MPI_Win_fence(0, wins[w]);
  }
  if (argc == 1) {
    char* memory = NULL;
    MPI_Alloc_mem(5000, MPI_INFO_NULL, &memory);
    memset(memory, 'x', 5000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Free_mem(memory);
  }
  for (int w = 0; w < 2; w++) MPI_Win_free(&wins[w]);
  MPI_Finalize();
  return 0;
}
