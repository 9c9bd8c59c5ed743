/* By a storage window. Each rank's segment is the whole file (storage_alloc_layout=overlap), so every particle has the
 * same place in it as in the file, on any number of ranks, and a rank stores its own without a message. A restart
 * copies nothing: the particles are used where they lie, in the window.
 *
 * The two other ways were measured too (2 ranks, MPICH 5, 380 MB, local disk). A window for each variable: 9 syncs of a
 * checkpoint take up to twice as long as one. A range of the file for each rank, into which the others put: as fast to
 * write, but most particles lie with another rank then, and a restart that gets them takes 2 to 3 times as long.
 */
#include <sill/sill.h>
#include <string.h>

#include "app.h"
#include "method.h"

/* Without Sill there is no such function. */
#pragma weak sill_win_sync_all

static struct {
  const struct share* share;
  MPI_Win window;
  int rank; /* in the window */
  char* base;
} file;

static void open_window(const char* path, const struct share* share, bool create) {
  (void)create; /* a window opens what is there, and makes what isn't */
  MPI_Info info = app_file_info(path);
  file.share = share;
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_LAYOUT, "overlap"));
  APP_TRY(MPI_Info_set(info, SILL_ACCESS_STYLE, "write_mostly")); /* stored once between two syncs: may go out early */
  APP_TRY(MPI_Win_allocate((MPI_Aint)file_bytes(share), 1, info, share->comm, &file.base, &file.window));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_set_errhandler(file.window, MPI_ERRORS_RETURN));
  file.rank = app_rank_in(share->comm);
  APP_TRY(MPI_Win_lock(MPI_LOCK_SHARED, file.rank, MPI_MODE_NOCHECK, file.window)); /* each its own segment alone */
  app_backing(file.base);
}

static void write_window(const struct particles* particles) {
  for (int i = 0; i < variables; i++)
    memcpy(file.base + file_offset(file.share, i), particles->values[i], file.share->count * value_bytes(i));
}

/* Collective, unlike MPI_Win_sync: what a rank is still writing would be written out twice by the sync of another.
 * Without Sill there is only memory, and nothing to do. */
static void sync_window(void) {
  APP_TRY(sill_win_sync_all != NULL ? sill_win_sync_all(file.window) : MPI_Barrier(file.share->comm));
}

static void read_window(struct particles* particles) {
  for (int i = 0; i < variables; i++) particles->values[i] = file.base + file_offset(file.share, i);
}

static void close_window(bool keep) {
  MPI_Info info = MPI_INFO_NULL;
  APP_TRY(MPI_Info_create(&info));
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_UNLINK, keep ? "false" : "true"));
  APP_TRY(MPI_Win_set_info(file.window, info));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_unlock(file.rank, file.window));
  APP_TRY(MPI_Win_free(&file.window));
}

const struct method window_method = {"window", open_window, write_window, sync_window, read_window, close_window};
