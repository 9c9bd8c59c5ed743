/* By pwrite and pread, each rank its own. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "method.h"

static struct {
  const struct share* share;
  const char* path;
  int fd;
} file;

static void open_posix(const char* path, const struct share* share, bool create) {
  file.share = share;
  file.path = path;
  file.fd = app_open(path, create ? O_RDWR | O_CREAT : O_RDONLY);
}

static void write_posix(const struct particles* particles) {
  for (int i = 0; i < variables; i++)
    near_write(file.fd, file.path, particles->values[i], file.share->count * value_bytes(i),
               file_offset(file.share, i));
}

static void sync_posix(void) {
  if (fsync(file.fd) != 0) app_fail("%s: %s", file.path, strerror(errno));
}

static void read_posix(struct particles* particles) {
  for (int i = 0; i < variables; i++)
    near_read(file.fd, file.path, particles->values[i], file.share->count * value_bytes(i), file_offset(file.share, i));
}

static void close_posix(bool keep) {
  if (close(file.fd) != 0) app_fail("%s: %s", file.path, strerror(errno));
  APP_TRY(MPI_Barrier(file.share->comm)); /* nobody still has it open */
  if (!keep && app_rank_in(file.share->comm) == 0 && unlink(file.path) != 0)
    app_fail("%s: %s", file.path, strerror(errno));
}

const struct method posix_method = {"posix", open_posix, write_posix, sync_posix, read_posix, close_posix};
