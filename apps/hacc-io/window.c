/* By a storage window. Each rank's segment is the whole file (storage_alloc_layout=overlap), so every particle has the
 * same place in it as in the file, on any number of ranks, and a rank stores its own without a message. The
 * alternatives were slower or worse: a window for each variable means nine allocations and nine syncs of a checkpoint,
 * and file ranges that don't follow the particles mean that most of them are put to another rank first.
 *
 * A restart copies nothing: the particles are used where they lie, in the window.
 */
#include <sill/sill.h>
#include <string.h>

#include "app.h"
#include "method.h"

static struct {
  const struct share* share;
  MPI_Win window;
  char* base;
} file;

static void open_window(const char* path, const struct share* share, bool create, bool keep) {
  (void)create; /* a window opens what is there, and makes what isn't */
  MPI_Info info = app_file_info(path);
  file.share = share;
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_LAYOUT, "overlap"));
  APP_TRY(MPI_Info_set(info, SILL_ALLOC_UNLINK, keep ? "false" : "true"));
  APP_TRY(MPI_Win_allocate((MPI_Aint)file_bytes(share), 1, info, MPI_COMM_WORLD, &file.base, &file.window));
  APP_TRY(MPI_Info_free(&info));
  APP_TRY(MPI_Win_set_errhandler(file.window, MPI_ERRORS_RETURN));
  APP_TRY(MPI_Win_lock(MPI_LOCK_SHARED, app_rank(), MPI_MODE_NOCHECK, file.window)); /* each its own segment alone */
  app_backing(file.base);
}

static void write_window(const struct particles* particles) {
  for (int i = 0; i < variables; i++)
    memcpy(file.base + file_offset(file.share, i), particles->values[i], file.share->count * value_bytes(i));
}

static void sync_window(void) { APP_TRY(MPI_Win_sync(file.window)); }

static void read_window(struct particles* particles) {
  for (int i = 0; i < variables; i++) particles->values[i] = file.base + file_offset(file.share, i);
}

static void close_window(void) {
  APP_TRY(MPI_Win_unlock(app_rank(), file.window));
  APP_TRY(MPI_Win_free(&file.window));
}

const struct method window_method = {"window", open_window, write_window, sync_window, read_window, close_window};
