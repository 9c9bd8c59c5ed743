#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

#define TEXT_OF(number) TEXT_AS_IS(number)
#define TEXT_AS_IS(number) #number
#define VERSION TEXT_OF(SILL_VERSION_MAJOR) "." TEXT_OF(SILL_VERSION_MINOR) "." TEXT_OF(SILL_VERSION_PATCH)

static const char help[] =
    "Usage: mpiexec -n N sill-wordcount [OPTIONS] FOLDER...\n"
    "\n"
    "Counts the words in all regular files of the folders (or in single files) into a hash table that is spread over\n"
    "the ranks in an MPI window. A word is a run of the bytes A-Z and a-z, in lower case; it ends with its file. With "
    "the\n"
    "table on storage (`sill run --store DIR`, SILL_WINDOWS or --store), a run that was killed at any moment goes on "
    "from\n"
    "its last sync when it is started again, and every word is counted exactly once.\n"
    "\n"
    "Table\n"
    "  --window KIND         memory or storage; default: what SILL_WINDOWS says\n"
    "  --store DIR           put the table's files here, one per rank (means --window storage)\n"
    "  --fresh               forget what an earlier run left in the store\n"
    "  --capacity WORDS      different words the table can hold; default: bytes of input / 96, at least 131072\n"
    "  --heap SIZE           room of each rank for words of more than 24 letters; default: 8 bytes per slot, at least "
    "1M\n"
    "\n"
    "Work\n"
    "  --task-size SIZE      bytes of input that a rank takes at a time; default 1M\n"
    "  --sync-interval S     seconds between two syncs; default 5\n"
    "  --sync-tasks N        sync after N tasks as well\n"
    "\n"
    "Results\n"
    "  --top N               show the N most frequent words; default 20\n"
    "  --counts FILE         write all words and their counts, sorted by word, one `COUNT WORD` a line\n"
    "  --json FILE           write totals, times and top words as JSON\n"
    "  --verify              count again, serially, on rank 0, and compare word by word\n"
    "  --progress MODE       line (rewritten in place), plain (new lines), json (events), none; default: line on a "
    "terminal\n"
    "\n"
    "Demonstrations and tests\n"
    "  --kill-rank R         rank R kills itself with SIGKILL ...\n"
    "  --kill-at SHARE       ... as soon as this share of the input is taken, 0.0 to 1.0; default 0.5 ...\n"
    "  --kill-in STAGE       ... in the middle of a task (default), or before sync, before commit, or during copy\n"
    "\n"
    "  --help, --version\n"
    "\n"
    "SIZE takes the suffixes k, M and G (1024 each). Exit code: 0 done, 1 failed, 2 wrong usage.\n"
    "\n"
    "Example\n"
    "  sill run -n 4 --store /scratch/words -- sill-wordcount --top 10 /usr/share/doc\n";

enum {
  OPT_WINDOW = 256,
  OPT_STORE,
  OPT_FRESH,
  OPT_CAPACITY,
  OPT_HEAP,
  OPT_TASK_SIZE,
  OPT_SYNC_INTERVAL,
  OPT_SYNC_TASKS,
  OPT_TOP,
  OPT_COUNTS,
  OPT_JSON,
  OPT_VERIFY,
  OPT_PROGRESS,
  OPT_KILL_RANK,
  OPT_KILL_AT,
  OPT_KILL_IN,
  OPT_HELP,
  OPT_VERSION
};

static const struct option long_options[] = {{"window", required_argument, NULL, OPT_WINDOW},
                                             {"store", required_argument, NULL, OPT_STORE},
                                             {"fresh", no_argument, NULL, OPT_FRESH},
                                             {"capacity", required_argument, NULL, OPT_CAPACITY},
                                             {"heap", required_argument, NULL, OPT_HEAP},
                                             {"task-size", required_argument, NULL, OPT_TASK_SIZE},
                                             {"sync-interval", required_argument, NULL, OPT_SYNC_INTERVAL},
                                             {"sync-tasks", required_argument, NULL, OPT_SYNC_TASKS},
                                             {"top", required_argument, NULL, OPT_TOP},
                                             {"counts", required_argument, NULL, OPT_COUNTS},
                                             {"json", required_argument, NULL, OPT_JSON},
                                             {"verify", no_argument, NULL, OPT_VERIFY},
                                             {"progress", required_argument, NULL, OPT_PROGRESS},
                                             {"kill-rank", required_argument, NULL, OPT_KILL_RANK},
                                             {"kill-at", required_argument, NULL, OPT_KILL_AT},
                                             {"kill-in", required_argument, NULL, OPT_KILL_IN},
                                             {"help", no_argument, NULL, OPT_HELP},
                                             {"version", no_argument, NULL, OPT_VERSION},
                                             {NULL, 0, NULL, 0}};

/* A whole number from `least` on, with a suffix k, M or G if `suffixed`. */
static int read_number(const char* name, const char* text, bool suffixed, uint64_t least, uint64_t most,
                       uint64_t* value) {
  char* end = NULL;
  errno = 0;
  unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
  if (end == NULL || errno != 0) return fail("--%s %s: not a number", name, text);
  unsigned shift = 0;
  if (suffixed && *end != '\0') {
    shift = *end == 'k' || *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
    if (shift > 0) end++;
  }
  if (*end != '\0') return fail("--%s %s: text after the number", name, text);
  if (number > most >> shift || number << shift < least)
    return fail("--%s %s: not in %llu to %llu", name, text, (unsigned long long)least, (unsigned long long)most);
  *value = (uint64_t)number << shift;
  return 0;
}

static int read_real(const char* name, const char* text, double least, double most, double* value) {
  char* end = NULL;
  *value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(*value)) return fail("--%s %s: not a number", name, text);
  if (*value < least || *value > most) return fail("--%s %s: not in %g to %g", name, text, least, most);
  return 0;
}

/* The position of `text` in `names`, which ends with NULL. */
static int read_name(const char* name, const char* text, const char* const* names, int* position) {
  for (*position = 0; names[*position] != NULL; ++*position)
    if (strcmp(names[*position], text) == 0) return 0;
  return fail("--%s %s: unknown; see --help", name, text);
}

static int read_option(int option, const char* value, struct options* options) {
  static const char* const windows[] = {"memory", "storage", NULL};
  static const char* const modes[] = {"auto", "line", "plain", "json", "none", NULL};
  static const char* const stages[] = {"task", "sync", "commit", "copy", NULL};
  uint64_t number = 0;
  int position = 0;
  int bad = 0;
  switch (option) {
    case OPT_WINDOW:
      bad = read_name("window", value, windows, &position);
      options->window = position == 0 ? WINDOW_MEMORY : WINDOW_STORAGE;
      return bad;
    case OPT_STORE:
      options->store = value;
      return value[0] != '\0' ? 0 : fail("--store: empty");
    case OPT_FRESH:
      options->fresh = true;
      return 0;
    case OPT_CAPACITY:
      return read_number("capacity", value, true, 1, UINT64_C(1) << 48, &options->capacity);
    case OPT_HEAP:
      return read_number("heap", value, true, 8, UINT64_C(1) << 48, &options->heap_bytes);
    case OPT_TASK_SIZE:
      return read_number("task-size", value, true, 1, UINT64_C(1) << 30, &options->task_bytes);
    case OPT_SYNC_INTERVAL:
      return read_real("sync-interval", value, 0, 1e9, &options->sync_interval_s);
    case OPT_SYNC_TASKS:
      return read_number("sync-tasks", value, false, 1, UINT64_C(1) << 40, &options->sync_tasks);
    case OPT_TOP:
      bad = read_number("top", value, false, 0, 1000000, &number);
      options->top = (int)number;
      return bad;
    case OPT_COUNTS:
      options->counts = value;
      return 0;
    case OPT_JSON:
      options->json = value;
      return 0;
    case OPT_VERIFY:
      options->verify = true;
      return 0;
    case OPT_PROGRESS:
      bad = read_name("progress", value, modes, &position);
      options->progress = (enum progress_mode)position;
      return bad;
    case OPT_KILL_RANK:
      bad = read_number("kill-rank", value, false, 0, INT32_MAX, &number);
      options->kill_rank = (int)number;
      return bad;
    case OPT_KILL_AT:
      return read_real("kill-at", value, 0, 1, &options->kill_at);
    case OPT_KILL_IN:
      bad = read_name("kill-in", value, stages, &position);
      options->kill_stage = (enum kill_stage)position;
      return bad;
    default:
      return fail("unknown option; see --help");
  }
}

int options_parse(int argc, char** argv, bool speak, struct options* options) {
  *options = (struct options){.task_bytes = 1 << 20, .sync_interval_s = 5, .top = 20, .kill_rank = -1, .kill_at = 0.5};
  opterr = 0;
  for (;;) {
    int before = optind;
    int option = getopt_long(argc, argv, ":", long_options, NULL);
    if (option == -1) break;
    if (option == OPT_HELP || option == OPT_VERSION) {
      if (speak) fputs(option == OPT_HELP ? help : "sill-wordcount " VERSION "\n", stdout);
      return 1;
    }
    if (option == ':') return fail("%s needs a value; see --help", argv[before]);
    if (option == '?') return fail("%s: unknown option; see --help", argv[before]);
    if (read_option(option, optarg, options) != 0) return -1;
  }
  options->inputs = argv + optind;
  options->input_count = argc - optind;
  if (options->input_count == 0) return fail("name at least one folder of text; see --help");
  if (options->store != NULL && options->window == WINDOW_MEMORY) return fail("--store means --window storage");
  if (options->window == WINDOW_STORAGE && options->store == NULL) return fail("--window storage needs --store DIR");
  if (options->store != NULL) options->window = WINDOW_STORAGE;
  return 0;
}
