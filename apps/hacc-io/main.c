/* sill-hacc-io: the I/O of the cosmology code HACC (after the HACC-IO benchmark of the CORAL suite): all ranks write
 * their particles into one file, a checkpoint, and read them back, a restart. The file is the same, byte by byte, for
 * every method and number of ranks. Or ranks that share a near store write a file of their own there. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app.h"
#include "layout.h"
#include "method.h"

static struct {
  uint64_t particles, repeat, chunk;
  const char *method, *layout, *near, *split;
  bool write, read, corrupt;
} options = {.particles = 1000000, .repeat = 1, .chunk = 1 << 18, .method = "window", .layout = "global"};

static const struct app_option option_table[] = {
    {"particles", "N", APP_NUMBER, &options.particles, "of all ranks together, 38 bytes each"},
    {"method", "NAME", APP_TEXT, &options.method, "window, mpiio, mpiio-collective or posix"},
    {"write", NULL, APP_FLAG, &options.write, "write checkpoints, and keep the last (without --read: no restart)"},
    {"read", NULL, APP_FLAG, &options.read,
     "restart from the checkpoint in the store (without --write: no checkpoint)"},
    {"repeat", "N", APP_NUMBER, &options.repeat, "checkpoints, all into the same file"},
    {"layout", "NAME", APP_TEXT, &options.layout,
     "global: one file in --store; neighborhood: a file for the ranks that share --near"},
    {"near", "DIR", APP_TEXT, &options.near, "folder of the neighborhood's file; %h: host, %r: rank, %%: %"},
    {"split", "METHOD", APP_TEXT, &options.split, "nbhd_method: how the ranks that share --near are found"},
    {"chunk", "N", APP_NUMBER, &options.chunk, "particles that a checksum of a neighborhood's file covers"},
    {"test-corrupt", NULL, APP_FLAG, &options.corrupt, NULL},
};

static const struct app app = {
    .name = "sill-hacc-io",
    .purpose = "checkpoint and restart of particles in one file, by storage windows, MPI-IO or POSIX",
    .example = "sill run mpiexec -n 2 sill-hacc-io --window storage --store /scratch --particles 10000000 --repeat 5",
    APP_OPTIONS(option_table),
};

static const struct method* find_method(void) {
  static const struct method* const all[] = {&window_method, &mpiio_method, &mpiio_collective_method, &posix_method};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i]->name, options.method) == 0) return all[i];
  return NULL;
}

/* Whether all of a checkpoint is in its file when that is closed. */
static bool lasts(const struct method* method) { return method != &window_method || app_window_lasts(); }

/* 0, or the exit code after saying what is wrong with the options. */
static int check_options(const struct method* method) {
  if (method == NULL) return app_wrong("--method %s: window, mpiio, mpiio-collective or posix", options.method);
  if (options.particles == 0 || options.particles > UINT64_C(1) << 50)
    return app_wrong("--particles %" PRIu64 ": at least 1, at most 2^50", options.particles);
  if (options.repeat == 0 || options.repeat > 255) return app_wrong("--repeat %" PRIu64 ": 1 to 255", options.repeat);
  if (!options.write && !options.read) options.write = options.read = true;
  bool near = strcmp(options.layout, "neighborhood") == 0;
  if (!near && strcmp(options.layout, "global") != 0)
    return app_wrong("--layout %s: global or neighborhood", options.layout);
  if (near && options.near == NULL) return app_wrong("--layout neighborhood: name the near store's folder with --near");
  if (near && !app_has_sill()) return app_wrong("--layout neighborhood: Sill isn't loaded: start it with `sill run`");
  if (options.chunk == 0) return app_wrong("--chunk 0: at least 1");
  bool one_way = !options.write || !options.read;
  if ((one_way || near) && !lasts(method))
    return app_wrong("%s needs --window storage: of other windows nothing or a part is left",
                     near ? "--layout neighborhood" : "--write or --read alone");
  return 0;
}

/* Before a checkpoint: whatever longer file is there is cut, for no method does so. Before a restart: it must be the
 * checkpoint of as many particles. */
static void check_file(const struct checkpoint_file* file) {
  const char* path = file->path;
  struct stat status;
  off_t bytes = (off_t)file_bytes(&file->share);
  if (app_rank_in(file->share.comm) == 0) {
    bool there = stat(path, &status) == 0;
    if (!there && (errno != ENOENT || !options.write)) app_fail("%s: %s", path, strerror(errno));
    if (!options.write && status.st_size != bytes)
      app_fail("%s: has %lld bytes, %" PRIu64 " particles are %lld", path, (long long)status.st_size, file->share.total,
               (long long)bytes);
    if (there && status.st_size > bytes && truncate(path, bytes) != 0) app_fail("%s: %s", path, strerror(errno));
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
}

/* Bytes of a checkpoint, in all files of it. */
static uint64_t all_bytes(void) { return options.particles * particle_bytes; }

static void report_bandwidth(const char* checkpoint, double seconds) {
  if (seconds > 0) app_result_of("write-bandwidth", (double)all_bytes() / seconds, "B/s", "checkpoint=%s", checkpoint);
}

/* Write and sync all checkpoints; opening the file, which took open_s, counts for the first. */
static void write_checkpoints(const struct method* method, struct particles* particles, struct checkpoint_file* file,
                              double open_s) {
  double* further_s = app_allocate(options.repeat * sizeof *further_s);
  for (uint64_t i = 0; i < options.repeat; i++) {
    char name[32];
    snprintf(name, sizeof name, "%" PRIu64, i + 1);
    particles_set(particles, &file->share, options.repeat - 1 - i); /* so the last one doesn't depend on --repeat */
    if (options.corrupt && app_rank() == 0) *(char*)particles->values[0] ^= 1;
    APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
    double begin = app_seconds();
    layout_begin(file);
    method->write(particles);
    double middle = app_seconds();
    method->sync();
    layout_commit(file, particles);
    APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* a checkpoint is one when all ranks' part is durable */
    double end = app_seconds();
    double all_s = app_slowest(end - begin);
    app_result_of("write", app_slowest(middle - begin), "s", "checkpoint=%s", name);
    app_result_of("sync", app_slowest(end - middle), "s", "checkpoint=%s", name);
    report_bandwidth(name, i == 0 ? open_s + all_s : all_s);
    if (i > 0) further_s[i - 1] = all_s;
    app_progress("checkpoint", (i + 1) * all_bytes(), options.repeat * all_bytes(), "B");
  }
  app_progress_end();
  if (options.repeat > 1) report_bandwidth("further", app_median(further_s, options.repeat - 1));
  free(further_s);
}

/* Get the last checkpoint's particles and use each once; opening the file, which took open_s, counts. */
static bool restart(const struct method* method, struct particles* particles, const struct share* share,
                    double open_s) {
  struct particles found = *particles;
  particles_forget(particles, share);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double begin = app_seconds();
  method->read(&found);
  volatile uint64_t sum = particles_sum(&found, share);
  (void)sum;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double read_s = app_slowest(app_seconds() - begin), all_s = open_s + read_s;
  app_result("read", "", read_s, "s");
  if (all_s > 0) app_result("read-bandwidth", "", (double)all_bytes() / all_s, "B/s");
  return !app_verify() || particles_right(&found, share);
}

/* Returns the seconds of the slowest rank. */
static double open_file(const struct method* method, const struct checkpoint_file* file, bool create) {
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double begin = app_seconds();
  method->open(file->path, &file->share, create);
  double open_s = app_slowest(app_seconds() - begin);
  app_result("open", create ? "for=checkpoint" : "for=restart", open_s, "s");
  return open_s;
}

/* Both ways in one run: a restart opens the file anew, if what closes it leaves one. */
static bool run(const struct method* method, struct checkpoint_file* file) {
  bool both = options.write && options.read, right = true;
  struct particles particles = particles_allocate(&file->share);
  particles_forget(&particles, &file->share); /* the first touch of this memory is not what is measured */
  double open_s = open_file(method, file, options.write);
  if (options.write) write_checkpoints(method, &particles, file, open_s);
  if (both) {
    open_s = 0;
    if (lasts(method)) {
      method->close(true);
      open_s = open_file(method, file, false);
    }
  }
  if (options.read) right = restart(method, &particles, &file->share, open_s);
  method->close(app_keep() || !both);
  particles_free(&particles);
  return right;
}

int main(int argc, char** argv) {
  int code = 0;
  if (!app_prepare_files()) return 1;
  MPI_Init(&argc, &argv);
  const struct method* method = NULL;
  if (!app_begin(&app, argc, argv, &code) || (code = check_options(method = find_method())) != 0) {
    MPI_Finalize();
    return code;
  }
  bool near = strcmp(options.layout, "neighborhood") == 0;
  struct layout layout = {near, near ? options.near : app_store(), options.split, options.particles, options.chunk};
  struct checkpoint_file file = options.write ? layout_for_checkpoint(&layout) : layout_for_restart(&layout);
  app_note("method", "%s", method->name);
  app_note("layout", "%s", options.layout);
  check_file(&file);
  bool right = run(method, &file);
  layout_free(&file);
  code = app_end(right);
  MPI_Finalize();
  return code;
}
