/* sill-dht: fills a distributed hash table (table.h) with random keys, then looks up every one of them. On storage it
 * stays for another run to verify, or to go on with after a crash. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "table.h"

static struct {
  uint64_t volume, seed, sync_every;
  double heap_factor, keys;
  bool reopen, resume, corrupt;
} options = {.volume = 1000000, .seed = 1, .heap_factor = 4, .keys = 0.8};

static const struct app_option option_table[] = {
    {"volume", "N", APP_NUMBER, &options.volume, "buckets of each rank, 16 bytes each"},
    {"heap-factor", "F", APP_REAL, &options.heap_factor, "overflow cells for each bucket, 16 bytes each"},
    {"keys", "SHARE", APP_REAL, &options.keys, "keys that each rank inserts, as a share of its volume"},
    {"seed", "N", APP_NUMBER, &options.seed, "of the random keys"},
    {"sync-every", "N", APP_NUMBER, &options.sync_every, "sync after each rank's N keys; 0: once, at the end"},
    {"reopen", NULL, APP_FLAG, &options.reopen, "verify the table that an earlier run left with --keep"},
    {"resume", NULL, APP_FLAG, &options.resume, "verify what a killed run left and go on; begin if there is nothing"},
    {"test-corrupt", NULL, APP_FLAG, &options.corrupt, NULL},
};

static const struct app app = {
    .name = "sill-dht",
    .purpose = "a distributed hash table by one-sided operations: insert random keys, look all of them up",
    .example = "sill run mpiexec -n 2 sill-dht --window storage --store /scratch --volume 10000000",
    APP_OPTIONS(option_table),
};

enum { progress_step = 4096 };

static const char buckets_name[] = "dht-buckets";
static const char heap_name[] = "dht-heap";

/* Key `number` of all there can be, all different. 0 means none in the table. */
static uint64_t key_of(uint64_t number) {
  uint64_t state = options.seed + number * UINT64_C(0x9e3779b97f4a7c15), key = app_random(&state);
  return key != 0 ? key : 1;
}

/* Number of this rank's first key. */
static uint64_t first_key(const struct table* table) { return (uint64_t)app_rank() * table->shape.keys; }

/* Insert this rank's keys from..to, with syncs. Sets the seconds of both. */
static void insert(struct table* table, uint64_t from, uint64_t to, double* insert_s, double* sync_s) {
  uint64_t first = first_key(table), step = options.sync_every;
  *insert_s = *sync_s = 0;
  for (uint64_t next = from; from < to; from = next) {
    next = step > 0 && step < to - from ? from + step : to;
    double begin = app_seconds();
    for (uint64_t i = from; i < next; i++) {
      table_insert(table, key_of(first + i));
      if (i % progress_step == 0) app_progress("insert", i, to, "keys");
    }
    APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* a round ends when all are done */
    double middle = app_seconds();
    if (step > 0) table_sync(table, next);
    *insert_s += middle - begin;
    *sync_s += app_seconds() - middle;
  }
  app_progress_end();
}

/* Look up this rank's first `count` keys. Returns how many aren't there. */
static uint64_t look_up(const struct table* table, uint64_t count) {
  uint64_t first = first_key(table), missing = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (!table_contains(table, key_of(first + i))) missing++;
    if (i % progress_step == 0) app_progress("look up", i, count, "keys");
  }
  app_progress_end();
  if (missing > 0)
    fprintf(stderr, "%s: rank %d: %" PRIu64 " of %" PRIu64 " keys are missing\n", app.name, app_rank(), missing, count);
  return missing;
}

/* Look up keys that nobody has inserted. Returns how many are there. */
static uint64_t look_up_absent(const struct table* table) {
  uint64_t first = (uint64_t)app_ranks() * table->shape.keys + first_key(table), found = 0;
  for (uint64_t i = 0; i < table->shape.keys / 16 + 1; i++) found += table_contains(table, key_of(first + i)) ? 1 : 0;
  if (found > 0)
    fprintf(stderr, "%s: rank %d: %" PRIu64 " keys are there that nobody inserted\n", app.name, app_rank(), found);
  return found;
}

static void report(const char* phase, double mine, uint64_t keys) {
  double seconds = app_slowest(mine);
  app_result_of("time", seconds, "s", "phase=%s", phase);
  if (keys > 0 && seconds > 0) app_result_of("rate", (double)keys * app_ranks() / seconds, "1/s", "phase=%s", phase);
}

/* 0, or the exit code after saying what is wrong with the options. */
static int check_options(struct table_shape* shape) {
  double cells = ceil((double)options.volume * options.heap_factor), keys = (double)options.volume * options.keys;
  const double most = 1e15;
  if (options.volume == 0 || (double)options.volume > most || cells > most || keys > most || options.keys <= 0)
    return app_wrong("--volume, --heap-factor, --keys: there must be buckets and keys, and less than 1e15 of each");
  if (options.reopen && options.resume) return app_wrong("--reopen and --resume: one of them");
  if ((options.reopen || options.resume) && !app_window_lasts())
    return app_wrong("--reopen and --resume need --window storage: of other windows nothing or a part is left");
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  APP_TRY(MPI_Get_library_version(version, &length));
  if (strncmp(version, "Open MPI v4.", 12) == 0 && strcmp(app_window(), "memory") == 0 && app_ranks() > 1 &&
      getenv("OMPI_MCA_osc") == NULL)
    return app_wrong("Open MPI 4 crashes in MPI_Compare_and_swap on memory windows unless OMPI_MCA_osc is ^rdma");
  *shape = (struct table_shape){options.seed, options.volume, (uint64_t)cells, keys < 1 ? 1 : (uint64_t)keys};
  return 0;
}

static void open_table(struct table* table, const struct table_shape* shape) {
  MPI_Info buckets = app_window_info(buckets_name), heap = app_window_info(heap_name);
  if (options.reopen) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%d", app_store(), buckets_name, app_rank());
    if (access(path, R_OK) != 0) app_fail("--reopen: there is no %s", path); /* or the window would make one */
    APP_TRY(MPI_Info_set(buckets, "storage_alloc_unlink", "false"));
    APP_TRY(MPI_Info_set(heap, "storage_alloc_unlink", "false"));
  }
  table_open(table, shape, buckets, heap);
  app_backing(table->header);
  APP_TRY(MPI_Info_free(&buckets));
  APP_TRY(MPI_Info_free(&heap));
}

/* Make the table ready for inserts from the key number that is returned. *right: what is there already is whole. */
static uint64_t begin_or_resume(struct table* table, bool* right) {
  uint64_t mine = 0, from = options.resume ? table_synced(table, &mine) : 0;
  if (from == 0)
    table_clear(table);
  else
    table_recover(table);
  table_begin(table);
  if (from > 0) *right = look_up(table, mine) == 0;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* nobody inserts while others look up */
  if (options.resume) app_note("resumed_at", "%" PRIu64, from);
  return from;
}

static bool build(struct table* table) {
  bool right = true;
  double insert_s = 0, sync_s = 0, begin = app_seconds();
  uint64_t from = begin_or_resume(table, &right), keys = table->shape.keys;
  report("setup", app_seconds() - begin, 0);
  insert(table, from, keys, &insert_s, &sync_s);
  report("insert", insert_s, keys - from);
  if (options.sync_every > 0) report("sync-between", sync_s, 0);
  if (options.corrupt && app_rank() == 0) table_corrupt(table);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  return right;
}

/* The number of this rank's keys that a finished sync covers. */
static uint64_t reopen(struct table* table) {
  uint64_t mine = 0;
  if (table_synced(table, &mine) == 0) app_fail("--reopen: no run has finished a sync of a table in %s", app_store());
  table_begin(table);
  return mine;
}

int main(int argc, char** argv) {
  struct table table;
  struct table_shape shape;
  int code = 0;
  MPI_Init(&argc, &argv);
  if (!app_begin(&app, argc, argv, &code) || (code = check_options(&shape)) != 0) {
    MPI_Finalize();
    return code;
  }
  bool right = true;
  open_table(&table, &shape);
  uint64_t keys = shape.keys;
  if (options.reopen)
    keys = reopen(&table);
  else
    right = build(&table);
  double begin = app_seconds();
  right = look_up(&table, keys) == 0 && right;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  report("lookup", app_seconds() - begin, keys);
  if (app_verify()) right = look_up_absent(&table) == 0 && right;
  begin = app_seconds();
  if (!options.reopen) table_sync(&table, keys);
  report("sync", app_seconds() - begin, 0);
  table_close(&table);
  app_note("keys", "%" PRIu64, keys);
  code = app_end(right);
  MPI_Finalize();
  return code;
}
