/* sill-stage: turn the files of neighborhoods, which hold the records of their ranks, into one canonical file on a
 * store that all ranks see, and back. Ranks of a neighborhood share the work on its file; every piece is checked; what
 * was interrupted goes on where it was. `sill stage-out` and `sill stage-in` start it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "checksum.h"
#include "neighborhood.h"
#include "stage.h"

static struct {
  const char *near, *file, *values, *split;
  uint64_t chunk, stop;
  bool corrupt;
} options = {.values = "4,4,4,4,4,4,4,8,2", .chunk = 1 << 18};

static const struct app_option option_table[] = {
    {"near", "FILE", APP_TEXT, &options.near, "the neighborhood's file, on its store; %h: host, %r: rank, %%: %"},
    {"file", "FILE", APP_TEXT, &options.file, "the canonical file, on a store that all ranks see"},
    {"values", "BYTES,...", APP_TEXT, &options.values, "in: bytes of a record's values; those of sill-hacc-io"},
    {"chunk", "N", APP_NUMBER, &options.chunk, "in: records that a checksum covers"},
    {"split", "METHOD", APP_TEXT, &options.split, "nbhd_method: how the ranks that share a store are found"},
    {"test-stop", "N", APP_NUMBER, &options.stop, NULL},
    {"test-corrupt", NULL, APP_FLAG, &options.corrupt, NULL},
};

static const struct app app = {
    .name = "sill-stage",
    .purpose = "turn the files of neighborhoods into one canonical file (out), and back (in)",
    .example = "sill run mpiexec -n 4 sill-stage --near /local/hacc-io.near --file /project/hacc-io.dat out",
    APP_OPTIONS(option_table),
    .arguments = "out|in",
};

/* 0, or the exit code after saying what is wrong with the options. */
static int check_options(bool* out) {
  int count = 0;
  char** words = app_arguments(&count);
  if (count != 1 || (strcmp(words[0], "out") != 0 && strcmp(words[0], "in") != 0)) return app_wrong("say out or in");
  if (options.near == NULL || options.file == NULL) return app_wrong("--near and --file: name both");
  if (options.chunk == 0) return app_wrong("--chunk 0: at least 1");
  if (!app_has_sill()) return app_wrong("Sill isn't loaded: start it with `sill run`");
  *out = strcmp(words[0], "out") == 0;
  return 0;
}

__attribute__((format(printf, 2, 3))) static void name(char* to, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(to, path_room, format, arguments);
  va_end(arguments);
  if (length < 0 || length >= path_room) app_fail("%s: the path is too long", to);
}

static struct stat state_of(int fd, const char* path) {
  struct stat status;
  if (fstat(fd, &status) != 0) app_fail("%s: %s", path, strerror(errno));
  return status;
}

/* The folder that a file is in, made durable: what was renamed there stays so. */
static void sync_folder(const char* path) {
  char copy[path_room];
  name(copy, "%s", path);
  const char* folder = dirname(copy);
  int fd = app_open(folder, O_RDONLY | O_DIRECTORY);
  if (fsync(fd) != 0) app_fail("%s: %s", folder, strerror(errno));
  close(fd);
}

static void begin(struct copy* copy, bool out) {
  char folder[path_room];
  *copy = (struct copy){.out = out, .stop_after = options.stop};
  app_folder(options.near, copy->near, sizeof copy->near);
  name(copy->canonical, "%s", options.file);
  name(folder, "%s", copy->near);
  const char* parent = dirname(folder);
  copy->comm = app_neighborhood(MPI_COMM_WORLD, parent, options.split);
  if (copy->comm == MPI_COMM_NULL) app_fail("--near %s: this rank has no folder %s", copy->near, parent);
  copy->rank = app_rank_in(copy->comm);
}

/* Make the target where it isn't; 1 if it is new. By one rank. */
static int make_target(const char* path, uint64_t bytes) {
  int fresh = access(path, F_OK) != 0;
  int fd = app_open(path, O_RDWR | O_CREAT);
  if (ftruncate(fd, (off_t)bytes) != 0) app_fail("%s: %s", path, strerror(errno));
  if (close(fd) != 0) app_fail("%s: %s", path, strerror(errno));
  return fresh;
}

/* Source and target are open, and the journal is that of this copy. Collective over MPI_COMM_WORLD. */
static void open_both(struct copy* copy, MPI_Comm sharing, uint64_t bytes) {
  int fresh = app_rank_in(sharing) == 0 ? make_target(copy->target, bytes) : 0;
  APP_TRY(MPI_Bcast(&fresh, 1, MPI_INT, 0, sharing));
  copy->target_fd = app_open(copy->target, O_RDWR);
  uint64_t inode = state_of(copy->target_fd, copy->target).st_ino;
  journal_open(copy, fresh != 0, inode);
}

/* --- out --- */

static void prepare_out(struct copy* copy) {
  name(copy->source, "%s", copy->near);
  copy->source_fd = app_open(copy->source, O_RDONLY);
  near_read_header(&copy->format, copy->source_fd, copy->source);
  near_check_set(&copy->format, copy->rank == 0, copy->source);
  name(copy->target, "%s.%016" PRIx64 ".part", copy->canonical, copy->format.set);
  open_both(copy, MPI_COMM_WORLD, copy->format.total * near_record_bytes(&copy->format));
}

/* --- in --- */

/* Bytes of a record's values, of the option. */
static bool read_values(struct near_file* format) {
  uint64_t bytes[near_variables];
  format->variables = (uint32_t)app_read_sizes(options.values, 1, 1 << 16, bytes, near_variables);
  for (uint32_t v = 0; v < format->variables; v++) format->value_bytes[v] = (uint32_t)bytes[v];
  return format->variables > 0;
}

/* Each rank gets as many records; those of a neighborhood's ranks make its file. */
static void divide(struct copy* copy) {
  struct near_file* format = &copy->format;
  int ranks = app_ranks_of(copy->comm);
  struct near_range own = near_even_part(format->total, app_rank(), app_ranks());
  format->range_count = (uint64_t)ranks;
  format->ranges = app_allocate((size_t)ranks * sizeof own);
  APP_TRY(MPI_Allgather(&own, 2, MPI_UINT64_T, format->ranges, 2, MPI_UINT64_T, copy->comm));
  near_lay_out(format);
}

static void prepare_in(struct copy* copy) {
  struct near_file* format = &copy->format;
  name(copy->source, "%s", copy->canonical);
  copy->source_fd = app_open(copy->source, O_RDONLY);
  struct stat status = state_of(copy->source_fd, copy->source);
  uint64_t record = near_record_bytes(format), bytes = (uint64_t)status.st_size;
  if (bytes == 0 || bytes % record != 0)
    app_fail("%s: %" PRIu64 " bytes are no whole number of records of %" PRIu64 " bytes; see --values", copy->source,
             bytes, record);
  /* A file that was changed is another one: what was copied before is of no use. */
  uint64_t version[] = {bytes, (uint64_t)status.st_mtim.tv_sec, (uint64_t)status.st_mtim.tv_nsec, record};
  format->set = checksum(version, sizeof version);
  APP_TRY(MPI_Bcast(&format->set, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  format->total = bytes / record;
  format->chunk = options.chunk;
  divide(copy);
  name(copy->target, "%s.part", copy->near);
  open_both(copy, copy->comm, near_bytes(format));
}

/* By the lowest rank of a neighborhood, when all is copied. */
static void complete_header(struct copy* copy) {
  struct near_file* format = &copy->format;
  journal_read(copy, 0, near_units(format), format->checksums);
  format->complete = true;
  near_write_header(format, copy->target_fd, copy->target);
}

/* --- both --- */

/* The target gets its name, and the journal goes; or the journal alone goes, so that the next try begins anew. */
static void finish(struct copy* copy, bool right) {
  int all_right = right ? 1 : 0;
  APP_TRY(MPI_Allreduce(MPI_IN_PLACE, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
  bool leads = copy->out ? app_rank() == 0 : copy->rank == 0;
  if (all_right != 0 && leads) {
    if (!copy->out) complete_header(copy);
    if (rename(copy->target, copy->out ? copy->canonical : copy->near) != 0)
      app_fail("%s: %s", copy->target, strerror(errno));
    sync_folder(copy->target);
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  journal_close(copy);
  if (close(copy->target_fd) != 0) app_fail("%s: %s", copy->target, strerror(errno));
  close(copy->source_fd);
  near_free(&copy->format);
  APP_TRY(MPI_Comm_free(&copy->comm));
}

/* For tests: a bit of the target flips between copying and checking. */
static void corrupt(const struct copy* copy) {
  char byte = 0;
  uint64_t at = copy->out ? 0 : near_header_bytes(&copy->format);
  near_read(copy->target_fd, copy->target, &byte, 1, at);
  byte ^= 1;
  near_write(copy->target_fd, copy->target, &byte, 1, at);
}

static bool stage(bool out) {
  struct copy copy;
  struct near_file format = {0};
  if (!out && !read_values(&format)) app_fail("--values %s: not a list of sizes of 1 to 65536 bytes", options.values);
  begin(&copy, out);
  copy.format = format;
  (out ? prepare_out : prepare_in)(&copy);
  uint64_t bytes = copy.format.total * near_record_bytes(&copy.format), mine = 0, all = 0;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double begin_s = app_seconds();
  mine = copy_units(&copy);
  double copy_s = app_slowest(app_seconds() - begin_s);
  APP_TRY(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (options.corrupt && app_rank() == 0) corrupt(&copy);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  bool right = !app_verify() || copy_right(&copy);
  app_result("time", "", copy_s, "s");
  app_result("bandwidth", "", copy_s > 0 ? (double)all / copy_s : 0, "B/s");
  app_result("copied", "", (double)all, "B");
  app_result("done-before", "", (double)(bytes - all), "B");
  finish(&copy, right);
  return right;
}

int main(int argc, char** argv) {
  int code = 0;
  bool out = false;
  MPI_Init(&argc, &argv);
  if (app_begin(&app, argc, argv, &code) && (code = check_options(&out)) == 0) code = app_end(stage(out));
  MPI_Finalize();
  return code;
}
