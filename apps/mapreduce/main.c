/* sill-mapreduce: counts the words of folders of text by MapReduce, as a model of one that is one-sided throughout and
 * goes on after a kill. one_sided.c tells how it works, windows.h why the counts stay exact, collective.c is what it is
 * compared with. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "job.h"

static struct options options = {.engine = "1s",
                                 .distribution = "round-robin",
                                 .skew = 0.5,
                                 .task_bytes = 16 << 20,
                                 .top = 20,
                                 .kill_rank = UINT64_MAX,
                                 .kill_at = 0.5,
                                 .kill_in = "task"};

static const struct app_option table[] = {
    {"engine", "1s|2s", APP_CHOICE, &options.engine, "one-sided and decoupled, or collective"},
    {"task-size", "SIZE", APP_SIZE, &options.task_bytes, "text that a rank maps at a time"},
    {"distribution", "round-robin|skewed", APP_CHOICE, &options.distribution, "skewed: rank 0 gets the long files"},
    {"skew", "SHARE", APP_REAL, &options.skew, "share of the tasks that rank 0 gets if skewed"},
    {"fixed", NULL, APP_FLAG, &options.fixed, "1s: ranks without tasks take none of others"},
    {"checkpoint", NULL, APP_FLAG, &options.checkpoint, "make durable what is done, after each task and the reduce"},
    {"resume", NULL, APP_FLAG, &options.resume, "1s: go on from what an earlier run left in the store, if it did"},
    {"log", "SIZE", APP_SIZE, &options.log_bytes,
     "1s: room of each rank for what tasks give; 0: 64m, on storage all it can take"},
    {"result", "SIZE", APP_SIZE, &options.result_bytes,
     "1s: room of each rank for sorted words; 0: 64m, on storage all they can take"},
    {"top", "N", APP_NUMBER, &options.top, "tell the N most frequent words"},
    {"counts", "FILE", APP_TEXT, &options.counts, "write all words and counts there, as sort | uniq -c does"},
    {"events", NULL, APP_FLAG, &options.events, "tell progress on standard output, one JSON object a line"},
    {"kill-rank", "R", APP_NUMBER, &options.kill_rank, NULL},
    {"kill-at", "SHARE", APP_REAL, &options.kill_at, NULL},
    {"kill-in", "task|checkpoint|reduce", APP_CHOICE, &options.kill_in, NULL},
};

static const struct app app = {
    .name = "sill-mapreduce",
    .purpose = "counts the words (runs of A-Z and a-z, in lower case) of all files of folders by MapReduce",
    .example = "sill run -n 4 -- sill-mapreduce --window storage --store /scratch/me --checkpoint /usr/share/doc",
    APP_OPTIONS(table),
    .arguments = "FOLDER...",
};

/* 0, or the exit code after telling what is wrong. */
static int check_options(int inputs) {
  if (inputs == 0) return app_wrong("name at least one folder of text; see --help");
  if (options.task_bytes == 0 || options.task_bytes > 1 << 30) return app_wrong("--task-size: not from 1 to 1g");
  if (options.skew > 1) return app_wrong("--skew %g: not from 0 to 1", options.skew);
  if (strcmp(options.engine, "2s") == 0 && (options.resume || options.kill_rank != UINT64_MAX))
    return app_wrong("--engine 2s: goes without --resume and --kill-rank");
  kill_prepare(options.kill_rank == (uint64_t)app_rank(), options.kill_in);
  return 0;
}

static int run(void) {
  int inputs = 0;
  char** folders = app_arguments(&inputs);
  int wrong = check_options(inputs);
  if (wrong != 0) return wrong;
  show_prepare(options.events);
  struct job job = {.options = &options, .rank = app_rank(), .ranks = app_ranks()};
  job.skew = strcmp(options.distribution, "skewed") == 0 ? options.skew : 0;
  input_list(folders, inputs, options.task_bytes, &job.input);
  job.done = app_allocate_zero(job.input.tasks * sizeof *job.done);
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* time from here on */
  job.start = app_seconds();
  if (strcmp(options.engine, "1s") == 0) {
    run_one_sided(&job);
  } else {
    run_collective(&job);
  }
  free(job.done);
  free(job.result.data);
  words_free(&job.mapped);
  words_free(&job.reduced);
  input_free(&job.input);
  return app_end(job.right);
}

int main(int argc, char** argv) {
  int code = 0;
  if (!app_prepare_files()) return 1; /* what a kill left behind would be input */
  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  if (app_begin(&app, argc, argv, &code)) code = run();
  if (MPI_Finalize() != MPI_SUCCESS) return 1;
  return code;
}
