/* What every mini-app needs and no reader of one wants to read again: options, the info of its windows, failures,
 * progress, results. Nothing here touches a window, so an app shows all of its MPI itself.
 *
 * The kind of a window is an option, never a code path: an app passes app_window_info() to MPI_Win_allocate, and
 * --window decides what that says.
 */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- options: one table, from which --help comes --- */

enum app_kind {
  APP_FLAG,   /* bool; no argument */
  APP_NUMBER, /* uint64_t; decimal */
  APP_SIZE,   /* uint64_t, bytes; 4096, 4k, 2m, 1.5g: powers of 1024 */
  APP_REAL,   /* double, finite and not negative */
  APP_TEXT,   /* const char* */
  APP_CHOICE  /* const char*, one of those that the argument names: "yes|no" */
};

/* --NAME ARGUMENT or --NAME=ARGUMENT. The value before parsing is the default that --help shows. */
struct app_option {
  const char* name;
  const char* argument; /* what --help calls its value; NULL for a flag */
  enum app_kind kind;
  void* value;
  const char* help; /* NULL: for tests, not in --help */
};

struct app {
  const char* name;    /* "sill-mstream" */
  const char* purpose; /* one sentence */
  const char* example; /* one command line */
  const struct app_option* options;
  size_t option_count;
  const char* arguments; /* what stands behind the options, e.g. "FOLDER..."; NULL: nothing may */
};
#define APP_OPTIONS(table) .options = table, .option_count = sizeof table / sizeof table[0]

/* To be called before MPI_Init by an app that uses MPI-IO. Open MPI tries a lock beside each file it opens, in another
 * file, which a kill would leave there; only shared file pointers need the component that does so, and it is told to
 * do without, unless the user says otherwise. False without memory for that. Local. */
bool app_prepare_files(void);

/* Read the command line, and what every app has: --window memory|storage|combined, --store, --factor, --hint, --keep,
 * --json, --verify, --no-verify, --quiet, --help. True: go on. False: end with *exit_code, 0 after --help, 2 after a
 * wrong option, 1 if storage is wanted and Sill isn't loaded; rank 0 has said why. MPI must be initialized; from here
 * on errors on MPI_COMM_WORLD are returned, for app_check. Collective. */
bool app_begin(const struct app* app, int argc, char** argv, int* exit_code);

/* Rank 0 says what is wrong with the options, in a line. Returns the exit code, 2. For checks of an app's own after
 * app_begin that come out alike on all ranks. */
int app_wrong(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* The next name of a list with commas between, its first 31 letters in a static text; it may be empty. Moves the list
 * on, to NULL behind the last name. NULL if the list is. Local. */
const char* app_next_name(const char** list);

/* Whether the text is one of those between the bars, "yes|no". Local. */
bool app_is_among(const char* text, const char* choices);

/* Read a size like that of an APP_SIZE option up to the end of the text or a comma. Returns what follows the size, NULL
 * if there is none or it doesn't fit in 64 bits. Local. */
const char* app_read_size(const char* text, uint64_t* bytes);

/* Read a list of such sizes with commas between. Returns how many there are, 0 if there are more than `room` or one
 * isn't a size from `low` to `high`. Local. */
size_t app_read_sizes(const char* text, uint64_t low, uint64_t high, uint64_t* sizes, size_t room);

/* Rank in, and number of ranks of, MPI_COMM_WORLD. Local. */
int app_rank(void);
int app_ranks(void);

/* Rank in, and number of ranks of, another communicator. Local. */
int app_rank_in(MPI_Comm comm);
int app_ranks_of(MPI_Comm comm);

/* What the options say. Local. */
bool app_verify(void);            /* check the data; the default */
bool app_keep(void);              /* leave the windows' files */
const char* app_store(void);      /* the folder of the windows' files */
const char* app_window(void);     /* "memory", "storage", "combined" */
bool app_window_lasts(void);      /* whether files hold all of a window once it is freed: --window storage */
bool app_has_sill(void);          /* whether a library of Sill is loaded */
char** app_arguments(int* count); /* what stands behind the options */

/* --- windows --- */

/* The info for a window of this run. Memory: empty. Storage: alloc_type, the file STORE/NAME.%r (a NAME with a "%" is
 * taken as it is, below STORE), the factor if combined, unlink unless --keep. Then the pairs of --hint. The caller
 * frees it. Local. */
MPI_Info app_window_info(const char* name);

/* The same for a file of a given path, in which nothing is replaced: one file for all ranks if all name the same. */
MPI_Info app_file_info(const char* path);

/* The text with every "%" doubled, so that a hint takes it as it is. Freed by free(). Local. */
char* app_plain(const char* text);

/* Note for the result what the page at `base` of rank 0 lies on. Local. */
void app_backing(const void* base);

/* --- failures --- */

/* Say what failed and end the job with exit code 1. If all ranks fail, the lowest speaks for all; otherwise the others
 * can't be reached, and MPI_Abort ends them. */
_Noreturn void app_fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* app_fail with the MPI library's text, unless `mpi_code` is MPI_SUCCESS. Windows need MPI_ERRORS_RETURN for it. */
void app_check(int mpi_code, const char* call);

/* Check an MPI call: APP_TRY(MPI_Win_flush(0, win)). */
#define APP_TRY(call) app_check((call), #call)

/* Memory or app_fail; the second's is all 0, the third keeps what `old` holds, as realloc() does. Freed by free().
 * Local. */
void* app_allocate(size_t bytes);
void* app_allocate_zero(size_t bytes);
void* app_grow(void* old, size_t bytes);

/* An open file or app_fail; one that is created is for its owner alone. Local. */
int app_open(const char* path, int flags);

/* --- progress --- */

/* On rank 0's standard error: one line, rewritten on a terminal, else a new one every 5 s at most, with rate and time
 * left. Cheap enough for each step of a loop that takes a microsecond or more. Other ranks say nothing. Local. */
void app_progress(const char* what, uint64_t done, uint64_t total, const char* unit /* "B", "keys" */);
void app_progress_end(void);

/* --- results: a table for a person, and JSON on request; those of rank 0 count --- */

/* labels: "kernel=SEQ op=put"; unit: "B/s", "s", "1/s", "us", "1". Local. */
void app_result(const char* name, const char* labels, double value, const char* unit);

/* The same with labels made as by printf(). Local. */
void app_result_of(const char* name, double value, const char* unit, const char* labels, ...)
    __attribute__((format(printf, 4, 5)));

/* A text of the JSON's notes, e.g. "method": "storage", made as by printf(). Local. */
void app_note(const char* key, const char* value, ...) __attribute__((format(printf, 2, 3)));

/* Print the table, write the JSON, agree on `right`, what the self-check found. Returns the exit code: 0, or 1 if data
 * were wrong on any rank or the JSON can't be written. Call it just before MPI_Finalize. Collective. */
int app_end(bool right);

/* --- small helpers --- */

double app_seconds(void);                        /* MPI_Wtime. Local */
uint64_t app_random(uint64_t* state);            /* splitmix64: the next number of a sequence. Local */
double app_slowest(double mine);                 /* the largest of all ranks. Collective */
double app_median(double* values, size_t count); /* sorts them; of an even number the lower one in the middle. Local */
