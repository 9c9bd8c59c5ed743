/* sill-split: what it costs to find the ranks that share a directory, by each method, on the first 1, 2, 4, ... ranks.
 * Methods take turns; a split's time is that of the slowest rank; of all repetitions the median counts, with an
 * interval that holds the true one in 95 of 100 runs. Beside it stands what each split did on the file system. */
#include <inttypes.h>
#include <math.h>
#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "neighborhood.h"

/* Without Sill there is no such function. */
#pragma weak sill_split_get_stats

enum { max_counts = 64, max_methods = 8 };

static struct {
  const char *near, *methods, *ranks;
  uint64_t repetitions;
  bool corrupt;
} options = {.methods = "none,heuristic,exhaustive,fingerprint,auto", .repetitions = 100};

static const struct app_option option_table[] = {
    {"near", "DIR", APP_TEXT, &options.near, "the directory; %h: host, %r: rank, %%: %"},
    {"methods", "LIST", APP_TEXT, &options.methods, "values of nbhd_method, and none: a split without a directory"},
    {"counts", "LIST", APP_TEXT, &options.ranks, "numbers of ranks to measure with; without: 1, 2, 4, ... and all"},
    {"repetitions", "N", APP_NUMBER, &options.repetitions, "of each method"},
    {"test-corrupt", NULL, APP_FLAG, &options.corrupt, NULL},
};

static const struct app app = {
    .name = "sill-split",
    .purpose = "what it costs to find the ranks that share a directory, by method and number of ranks",
    .example = "sill run mpiexec -n 16 sill-split --near /local",
    APP_OPTIONS(option_table),
};

struct operations {
  uint64_t creates, looks, removes;
};

/* --- the lists of the options --- */

static char names[max_methods][32];

static size_t read_methods(void) {
  const char* list = options.methods;
  size_t count = 0;
  for (const char* name; (name = app_next_name(&list)) != NULL; count++) {
    if (count == max_methods || !app_is_among(name, "none|auto|exhaustive|heuristic|fingerprint")) return 0;
    snprintf(names[count], sizeof names[0], "%s", name);
  }
  return count;
}

/* Without --counts: the powers of two below the number of ranks, and that. */
static size_t read_counts(uint64_t* counts) {
  size_t count = 0;
  uint64_t all = (uint64_t)app_ranks();
  if (options.ranks != NULL) return app_read_sizes(options.ranks, 1, all, counts, max_counts);
  for (uint64_t ranks = 1; ranks < all; ranks *= 2) counts[count++] = ranks;
  counts[count++] = all;
  return count;
}

/* --- one split --- */

static MPI_Comm split(MPI_Comm comm, const char* folder, const char* method) {
  if (strcmp(method, "none") != 0) return app_neighborhood(comm, folder, method);
  MPI_Comm nobody = MPI_COMM_NULL;
  APP_TRY(MPI_Comm_split_type(comm, SILL_COMM_TYPE_NEIGHBORHOOD, 0, MPI_INFO_NULL, &nobody));
  return nobody;
}

/* What the last split did, of all ranks together. */
static struct operations count_operations(MPI_Comm comm) {
  sill_split_stats stats = {.size = sizeof stats};
  APP_TRY(sill_split_get_stats(&stats));
  struct operations mine = {stats.creates, stats.looks, stats.removes}, all;
  APP_TRY(MPI_Allreduce(&mine, &all, 3, MPI_UINT64_T, MPI_SUM, comm));
  return all;
}

/* How many nodes the ranks are on. */
static int count_nodes(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  APP_TRY(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int leads = app_rank_in(node) == 0 ? 1 : 0, nodes = 0;
  APP_TRY(MPI_Allreduce(&leads, &nodes, 1, MPI_INT, MPI_SUM, comm));
  APP_TRY(MPI_Comm_free(&node));
  return nodes;
}

/* The lowest rank of each rank's group, -1 for none: two splits are the same if these are. */
static int lowest(MPI_Comm comm, MPI_Comm group) {
  int rank = app_rank_in(comm), low = -1;
  if (group != MPI_COMM_NULL) APP_TRY(MPI_Allreduce(&rank, &low, 1, MPI_INT, MPI_MIN, group));
  return low;
}

/* --- figures --- */

/* Median, and the interval around it that its order statistics give whatever the distribution is. Sorts them. */
static void report(int ranks, int nodes, const char* method, double* seconds, size_t count) {
  char labels[120];
  snprintf(labels, sizeof labels, "count=%d nodes=%d method=%s", ranks, nodes, method);
  double below = floor(((double)count - 1.96 * sqrt((double)count)) / 2);
  size_t low = below > 1 ? (size_t)below - 1 : 0;
  app_result_of("time", app_median(seconds, count) * 1e6, "us", "%s statistic=median", labels); /* sorts */
  app_result_of("time", seconds[low] * 1e6, "us", "%s statistic=low", labels);
  app_result_of("time", seconds[count - 1 - low] * 1e6, "us", "%s statistic=high", labels);
}

static void report_operations(int ranks, int nodes, const char* method, const struct operations* operations) {
  static const char* const kinds[] = {"create", "look", "remove"};
  const uint64_t values[] = {operations->creates, operations->looks, operations->removes};
  for (int i = 0; i < 3; i++)
    app_result_of("operations", (double)values[i], "1", "count=%d nodes=%d method=%s kind=%s", ranks, nodes, method,
                  kinds[i]);
}

/* --- all splits --- */

/* All methods, in turns, on the ranks of `comm`. False if auto and exhaustive don't agree. */
static bool measure(MPI_Comm comm, const char* folder, size_t methods) {
  double* seconds = app_allocate(methods * options.repetitions * sizeof *seconds);
  struct operations operations[max_methods] = {{0}};
  int ranks = app_ranks_of(comm), nodes = count_nodes(comm), exact[2] = {-2, -2}; /* exhaustive, auto */
  bool right = true;
  for (uint64_t i = 0; i < options.repetitions; i++) {
    for (size_t turn = 0; turn < methods; turn++) {
      size_t m = (turn + i) % methods;
      APP_TRY(MPI_Barrier(comm));
      double begin = app_seconds();
      MPI_Comm group = split(comm, folder, names[m]);
      double mine = app_seconds() - begin;
      APP_TRY(MPI_Allreduce(&mine, &seconds[m * options.repetitions + i], 1, MPI_DOUBLE, MPI_MAX, comm));
      bool by_folder = strcmp(names[m], "none") != 0;
      if (by_folder) operations[m] = count_operations(comm);
      if (strcmp(names[m], "exhaustive") == 0) exact[0] = lowest(comm, group);
      if (strcmp(names[m], "auto") == 0) exact[1] = lowest(comm, group) + (options.corrupt ? 1 : 0);
      if (group != MPI_COMM_NULL) APP_TRY(MPI_Comm_free(&group));
      right = right && (exact[0] == -2 || exact[1] == -2 || exact[0] == exact[1]);
    }
    app_progress("splits", i + 1, options.repetitions, "repetitions");
  }
  for (size_t m = 0; m < methods; m++) {
    report(ranks, nodes, names[m], seconds + m * options.repetitions, options.repetitions);
    if (strcmp(names[m], "none") != 0) report_operations(ranks, nodes, names[m], &operations[m]);
  }
  free(seconds);
  return right;
}

static bool run(const uint64_t* counts, size_t count, size_t methods) {
  char folder[4096];
  bool right = true;
  app_folder(options.near, folder, sizeof folder);
  for (size_t i = 0; i < count; i++) {
    MPI_Comm some = MPI_COMM_NULL;
    APP_TRY(MPI_Comm_split(MPI_COMM_WORLD, (uint64_t)app_rank() < counts[i] ? 0 : MPI_UNDEFINED, 0, &some));
    if (some == MPI_COMM_NULL) continue;
    right = measure(some, folder, methods) && right;
    APP_TRY(MPI_Comm_free(&some));
  }
  if (!right) fprintf(stderr, "sill-split: rank %d: auto and exhaustive don't agree\n", app_rank());
  return right;
}

/* 0, or the exit code after saying what is wrong with the options. */
static int check_options(uint64_t* counts, size_t* count, size_t* methods) {
  if (options.near == NULL) return app_wrong("--near: name the directory");
  if ((*methods = read_methods()) == 0) return app_wrong("--methods %s: one is unknown", options.methods);
  if ((*count = read_counts(counts)) == 0)
    return app_wrong("--counts %s: not a list of numbers of up to %d ranks", options.ranks, app_ranks());
  if (options.repetitions == 0 || options.repetitions > 1 << 20) return app_wrong("--repetitions: 1 to %d", 1 << 20);
  return app_has_sill() ? 0 : app_wrong("Sill isn't loaded: start it with `sill run`");
}

int main(int argc, char** argv) {
  int code = 0;
  uint64_t counts[max_counts];
  size_t count = 0, methods = 0;
  MPI_Init(&argc, &argv);
  if (app_begin(&app, argc, argv, &code) && (code = check_options(counts, &count, &methods)) == 0)
    code = app_end(run(counts, count, methods));
  MPI_Finalize();
  return code;
}
