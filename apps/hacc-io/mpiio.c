/* By MPI-IO, independent or collective, each rank its own. */
#include <mpi.h>

#include "app.h"
#include "method.h"

/* Values in a call: a number and its bytes must fit in an int. */
static const uint64_t most_values = 1 << 27;

static struct {
  const char* path;
  const struct share* share;
  uint64_t rounds; /* calls for a variable; all ranks make as many, for collective ones */
  MPI_File handle;
} file;

static void open_mpiio(const char* path, const struct share* share, bool create) {
  uint64_t largest = 0;
  APP_TRY(MPI_Allreduce(&share->count, &largest, 1, MPI_UINT64_T, MPI_MAX, share->comm));
  file.path = path;
  file.share = share;
  file.rounds = (largest + most_values - 1) / most_values;
  int mode = create ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY;
  APP_TRY(MPI_File_open(share->comm, path, mode, MPI_INFO_NULL, &file.handle)); /* its errors are returned */
}

typedef int transfer_call(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);

static int write_at(MPI_File handle, MPI_Offset at, void* from, int count, MPI_Datatype type, MPI_Status* status) {
  return MPI_File_write_at(handle, at, from, count, type, status);
}

static int write_at_all(MPI_File handle, MPI_Offset at, void* from, int count, MPI_Datatype type, MPI_Status* status) {
  return MPI_File_write_at_all(handle, at, from, count, type, status);
}

static void transfer(transfer_call* call, const char* name, const struct particles* particles) {
  const MPI_Datatype types[] = {MPI_FLOAT, MPI_INT64_T, MPI_UINT16_T};
  for (int i = 0; i < variables; i++) {
    MPI_Datatype type = types[value_bytes(i) == 4 ? 0 : value_bytes(i) == 8 ? 1 : 2];
    uint64_t done = 0;
    for (uint64_t round = 0; round < file.rounds; round++) {
      uint64_t left = file.share->count - done, count = left < most_values ? left : most_values;
      char* values = (char*)particles->values[i] + done * value_bytes(i);
      MPI_Offset offset = (MPI_Offset)(file_offset(file.share, i) + done * value_bytes(i));
      MPI_Status status;
      int moved = 0;
      app_check(call(file.handle, offset, values, (int)count, type, &status), name);
      APP_TRY(MPI_Get_count(&status, type, &moved));
      if ((uint64_t)moved != count) app_fail("%s: %d values of %d", name, moved, (int)count);
      done += count;
    }
  }
}

static void write_independent(const struct particles* particles) { transfer(write_at, "MPI_File_write_at", particles); }
static void write_collective(const struct particles* particles) {
  transfer(write_at_all, "MPI_File_write_at_all", particles);
}
static void read_independent(struct particles* particles) { transfer(MPI_File_read_at, "MPI_File_read_at", particles); }
static void read_collective(struct particles* particles) {
  transfer(MPI_File_read_at_all, "MPI_File_read_at_all", particles);
}
static void sync_mpiio(void) { APP_TRY(MPI_File_sync(file.handle)); }
static void close_mpiio(bool keep) {
  APP_TRY(MPI_File_close(&file.handle)); /* collective: nobody still has it open */
  if (!keep && app_rank_in(file.share->comm) == 0) APP_TRY(MPI_File_delete(file.path, MPI_INFO_NULL));
}

const struct method mpiio_method = {"mpiio", open_mpiio, write_independent, sync_mpiio, read_independent, close_mpiio};
const struct method mpiio_collective_method = {"mpiio-collective", open_mpiio,      write_collective,
                                               sync_mpiio,         read_collective, close_mpiio};
