/* Begin, windows' infos, small helpers. */
#include <sill/sill.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Without Sill there is no such function. */
#pragma weak sill_error_string

int app_rank(void) { return app_run.rank; }
int app_ranks(void) { return app_run.ranks; }
bool app_verify(void) { return app_run.verify; }
bool app_keep(void) { return app_run.keep; }
const char* app_store(void) { return app_run.store; }
const char* app_window(void) { return app_run.window; }
bool app_window_lasts(void) { return strcmp(app_run.window, "storage") == 0; }
bool app_has_sill(void) { return sill_error_string != NULL; }

int app_rank_in(MPI_Comm comm) {
  int rank = 0;
  APP_TRY(MPI_Comm_rank(comm, &rank));
  return rank;
}

int app_ranks_of(MPI_Comm comm) {
  int ranks = 0;
  APP_TRY(MPI_Comm_size(comm, &ranks));
  return ranks;
}

char** app_arguments(int* count) {
  *count = app_run.argument_count;
  return app_run.arguments;
}

bool app_prepare_files(void) { return setenv("OMPI_MCA_sharedfp", "^lockedfile", 0) == 0; }

bool app_begin(const struct app* app, int argc, char** argv, int* exit_code) {
  app_run.app = app;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  APP_TRY(MPI_Comm_rank(MPI_COMM_WORLD, &app_run.rank));
  APP_TRY(MPI_Comm_size(MPI_COMM_WORLD, &app_run.ranks));
  APP_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &app_run.comm)); /* with the error handler */
  const char* wrong = app_parse(app, argc, argv);
  if (wrong != NULL) {
    *exit_code = app_wrong("%s; see --help", wrong);
    return false;
  }
  if (app_run.help) {
    if (app_run.rank == 0) app_print_help(app);
    *exit_code = 0;
    return false;
  }
  if (strcmp(app_run.window, "memory") != 0 && !app_has_sill()) {
    if (app_run.rank == 0)
      fprintf(stderr, "%s: --window %s: Sill isn't loaded: start the program with `sill run`\n", app->name,
              app_run.window);
    *exit_code = 1;
    return false;
  }
  return true;
}

int app_wrong(const char* format, ...) {
  if (app_run.rank == 0) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", app_run.app->name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
  }
  return 2;
}

/* --- windows --- */

static void set(MPI_Info info, const char* key, const char* value) { APP_TRY(MPI_Info_set(info, key, value)); }

char* app_plain(const char* text) {
  char* plain = app_allocate(2 * strlen(text) + 1);
  char* to = plain;
  for (; *text != '\0'; ++text) {
    if (*text == '%') *to++ = '%';
    *to++ = *text;
  }
  *to = '\0';
  return plain;
}

static MPI_Info make_info(const char* filename) {
  MPI_Info info = MPI_INFO_NULL;
  APP_TRY(MPI_Info_create(&info));
  if (strcmp(app_run.window, "memory") != 0) {
    set(info, SILL_ALLOC_TYPE, "storage");
    set(info, SILL_ALLOC_FILENAME, filename);
    set(info, SILL_ALLOC_UNLINK, app_run.keep ? "false" : "true");
    if (strcmp(app_run.window, "combined") == 0) set(info, SILL_ALLOC_FACTOR, app_run.factor);
  }
  for (size_t i = 0; i < app_run.hint_count; ++i) {
    const char* equals = strchr(app_run.hints[i], '='); /* app_parse has seen it */
    char key[MPI_MAX_INFO_KEY + 1] = "";
    memcpy(key, app_run.hints[i], (size_t)(equals - app_run.hints[i]));
    set(info, key, equals + 1);
  }
  return info;
}

MPI_Info app_window_info(const char* name) {
  char filename[APP_PATH_ROOM];
  char* store = app_plain(app_run.store);
  const char* rank = strchr(name, '%') == NULL ? ".%r" : "";
  int wanted = snprintf(filename, sizeof filename, "%s/%s%s", store, name, rank);
  free(store);
  if (wanted < 0 || (size_t)wanted >= sizeof filename) app_fail("%s/%s: the path is too long", app_store(), name);
  return make_info(filename);
}

MPI_Info app_file_info(const char* path) {
  char* filename = app_plain(path);
  MPI_Info info = make_info(filename);
  free(filename);
  return info;
}

/* --- small helpers --- */

double app_seconds(void) { return MPI_Wtime(); }

uint64_t app_random(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

double app_slowest(double mine) {
  double slowest = mine;
  APP_TRY(MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, app_run.comm));
  return slowest;
}

static int compare_doubles(const void* left, const void* right) {
  double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

double app_median(double* values, size_t count) {
  qsort(values, count, sizeof *values, compare_doubles);
  return values[(count - 1) / 2];
}
