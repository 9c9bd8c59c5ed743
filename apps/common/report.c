/* Results, the JSON of a run. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sill/sill.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define TEXT_OF(number) #number
#define VERSION_OF(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
static const char version[] = VERSION_OF(SILL_VERSION_MAJOR, SILL_VERSION_MINOR, SILL_VERSION_PATCH);

struct result {
  char *name, *labels, *unit;
  double value;
};

struct note {
  char *key, *value;
};

static struct {
  struct result* results;
  size_t result_count;
  struct note* notes;
  size_t note_count;
  char backing[APP_PATH_ROOM];
} report;

/* --- collecting --- */

static char* copy(const char* text) {
  size_t bytes = strlen(text) + 1;
  return memcpy(app_allocate(bytes), text, bytes);
}

void app_result(const char* name, const char* labels, double value, const char* unit) {
  if (app_run.rank != 0) return;
  report.results = app_grow(report.results, (report.result_count + 1) * sizeof *report.results);
  report.results[report.result_count++] = (struct result){copy(name), copy(labels), copy(unit), value};
}

void app_result_of(const char* name, double value, const char* unit, const char* labels, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, labels);
  vsnprintf(text, sizeof text, labels, arguments);
  va_end(arguments);
  app_result(name, text, value, unit);
}

void app_note(const char* key, const char* value, ...) {
  if (app_run.rank != 0) return;
  char text[256];
  va_list arguments;
  va_start(arguments, value);
  vsnprintf(text, sizeof text, value, arguments);
  va_end(arguments);
  report.notes = app_grow(report.notes, (report.note_count + 1) * sizeof *report.notes);
  report.notes[report.note_count++] = (struct note){copy(key), copy(text)};
}

void app_backing(const void* base) {
  if (app_run.rank != 0 || report.backing[0] != '\0') return;
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return; /* not Linux's way here: unknown */
  char line[5000];
  while (fgets(line, sizeof line, maps) != NULL) {
    uintptr_t first = 0, end = 0;
    int name = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &first, &end, &name) < 2) continue;
    if ((uintptr_t)base < first || (uintptr_t)base >= end) continue;
    line[strcspn(line, "\n")] = '\0';
    snprintf(report.backing, sizeof report.backing, "%s", name > 0 ? line + name : "");
    break;
  }
  fclose(maps);
}

/* --- writing --- */

static const char* mpi_version(void) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  APP_TRY(MPI_Get_library_version(text, &length));
  text[strcspn(text, "\n")] = '\0';
  return text;
}

static void print_table(FILE* file, bool right) {
  fprintf(file, "%s: %d rank%s, %s windows%s%s\n", app_run.app->name, app_run.ranks, app_run.ranks == 1 ? "" : "s",
          app_run.window, report.backing[0] != '\0' ? " on " : "", report.backing);
  int names = 0, labels = 0;
  for (size_t i = 0; i < report.result_count; ++i) {
    int name = (int)strlen(report.results[i].name), label = (int)strlen(report.results[i].labels);
    names = name > names ? name : names;
    labels = label > labels ? label : labels;
  }
  for (size_t i = 0; i < report.result_count; ++i) {
    const struct result* r = &report.results[i];
    fprintf(file, "  %-*s  %-*s  %s\n", names, r->name, labels, r->labels, app_readable(r->value, r->unit));
  }
  for (size_t i = 0; i < report.note_count; ++i)
    fprintf(file, "  %s: %s\n", report.notes[i].key, report.notes[i].value);
  fprintf(file, "  data: %s\n", !app_run.verify ? "not checked" : right ? "checked, right" : "WRONG");
}

/* {"kernel": "SEQ", "op": "put"} of "kernel=SEQ op=put". */
static void print_labels(FILE* file, const char* labels) {
  char word[256];
  const char* separator = "";
  fputc('{', file);
  for (const char* at = labels; *at != '\0'; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    snprintf(word, sizeof word, "%.*s", (int)length, at);
    at += length;
    char* value = strchr(word, '=');
    if (value != NULL) *value++ = '\0';
    fputs(separator, file);
    app_print_string(file, word);
    fputs(": ", file);
    app_print_string(file, value != NULL ? value : "");
    separator = ", ";
  }
  fputc('}', file);
}

static void print_json(FILE* file, bool right) {
  fputs("{\"app\": ", file);
  app_print_string(file, app_run.app->name);
  fprintf(file, ", \"version\": \"%s\", \"mpi\": ", version);
  app_print_string(file, mpi_version());
  fprintf(file, ", \"ranks\": %d, \"window\": \"%s\", \"parameters\": {", app_run.ranks, app_run.window);
  app_print_parameters(file);
  fprintf(file, "}, \"sill\": %s, \"backing\": ", app_has_sill() ? "true" : "false");
  app_print_string(file, report.backing);
  fprintf(file, ", \"verified\": %s, \"notes\": {", !app_run.verify ? "null" : right ? "true" : "false");
  for (size_t i = 0; i < report.note_count; ++i) {
    if (i > 0) fputs(", ", file);
    app_print_string(file, report.notes[i].key);
    fputs(": ", file);
    app_print_string(file, report.notes[i].value);
  }
  fputs("}, \"results\": [", file);
  for (size_t i = 0; i < report.result_count; ++i) {
    const struct result* r = &report.results[i];
    fputs(i > 0 ? ",\n  {\"name\": " : "\n  {\"name\": ", file);
    app_print_string(file, r->name);
    fputs(", \"labels\": ", file);
    print_labels(file, r->labels);
    fputs(", \"unit\": ", file);
    app_print_string(file, r->unit);
    if (isfinite(r->value)) {
      fprintf(file, ", \"value\": %.17g}", r->value);
    } else {
      fputs(", \"value\": null}", file);
    }
  }
  fputs("]}\n", file);
}

/* False after a line about why not. */
static bool write_json(bool right) {
  bool standard = strcmp(app_run.json, "-") == 0;
  FILE* file = standard ? stdout : fopen(app_run.json, "w");
  bool written = file != NULL;
  if (written) {
    print_json(file, right);
    written = fflush(file) == 0 && ferror(file) == 0;
    if (!standard && fclose(file) != 0) written = false;
  }
  if (!written) fprintf(stderr, "%s: --json %s: %s\n", app_run.app->name, app_run.json, strerror(errno));
  return written;
}

int app_end(bool right) {
  int mine = right || !app_run.verify ? 0 : 1, code = mine;
  app_progress_end();
  APP_TRY(MPI_Allreduce(&mine, &code, 1, MPI_INT, MPI_MAX, app_run.comm));
  if (app_run.rank == 0) {
    bool all_right = code == 0;
    bool json_out = app_run.json != NULL && strcmp(app_run.json, "-") == 0;
    if (!app_run.quiet) print_table(json_out ? stderr : stdout, all_right);
    if (!all_right) fprintf(stderr, "%s: the data are wrong\n", app_run.app->name);
    if (app_run.json != NULL && !write_json(all_right)) code = 1;
    fflush(NULL);
  }
  APP_TRY(MPI_Bcast(&code, 1, MPI_INT, 0, app_run.comm));
  for (size_t i = 0; i < report.result_count; ++i) {
    free(report.results[i].name);
    free(report.results[i].labels);
    free(report.results[i].unit);
  }
  for (size_t i = 0; i < report.note_count; ++i) {
    free(report.notes[i].key);
    free(report.notes[i].value);
  }
  free(report.results);
  free(report.notes);
  APP_TRY(MPI_Comm_free(&app_run.comm));
  return code;
}
