/* The command line and --help. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static const struct app_option shared_options[] = {
    {"window", "KIND", APP_TEXT, &app_run.window, "where windows lie: memory, storage, or combined of both"},
    {"store", "DIR", APP_TEXT, &app_run.store, "folder of the windows' files"},
    {"factor", "F", APP_TEXT, &app_run.factor, "share on storage of a combined window, 0 to 1; auto: what doesn't fit"},
    {"keep", NULL, APP_FLAG, &app_run.keep, "leave the windows' files"},
    {"json", "FILE", APP_TEXT, &app_run.json, "write the result as JSON; -: to standard output"},
    {"verify", NULL, APP_FLAG, &app_run.verify, "check the data at the end (the default); --no-verify: don't"},
    {"quiet", NULL, APP_FLAG, &app_run.quiet, "no progress, no table"},
    {"help", NULL, APP_FLAG, &app_run.help, "show this text"},
};
enum { shared_count = sizeof shared_options / sizeof shared_options[0] };

__attribute__((format(printf, 1, 2))) static const char* wrong(const char* format, ...) {
  static char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

const char* app_read_size(const char* text, uint64_t* bytes) {
  char* end = NULL;
  if (!isdigit((unsigned char)text[0])) return NULL;
  errno = 0;
  uint64_t whole = strtoull(text, &end, 10);
  if (errno != 0) return NULL;
  double part = 0;
  if (*end == '.') {
    if (!isdigit((unsigned char)end[1]) || strspn(end + 1, "0123456789") > 9) return NULL;
    part = strtod(end, &end);
  }
  const char* letters = "kmgt";
  const char* letter = *end != '\0' ? strchr(letters, tolower((unsigned char)*end)) : NULL;
  unsigned shift = letter != NULL ? 10 * (unsigned)(letter - letters + 1) : 0;
  if (letter != NULL) ++end;
  if ((*end != '\0' && *end != ',') || (part > 0 && shift == 0) || whole > UINT64_MAX >> shift) return NULL;
  *bytes = (whole << shift) + (uint64_t)(part * (double)(UINT64_C(1) << shift));
  return end;
}

size_t app_read_sizes(const char* text, uint64_t low, uint64_t high, uint64_t* sizes, size_t room) {
  for (size_t count = 0; count < room; ++text) {
    text = app_read_size(text, &sizes[count]);
    if (text == NULL || sizes[count] < low || sizes[count] > high) return 0;
    ++count;
    if (*text == '\0') return count;
  }
  return 0;
}

const char* app_next_name(const char** list) {
  static char name[32];
  if (*list == NULL) return NULL;
  size_t length = strcspn(*list, ",");
  snprintf(name, sizeof name, "%.*s", (int)length, *list);
  *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
  return name;
}

/* What is wrong with the text, NULL if it is a number. */
static const char* read_number(const char* name, const char* text, uint64_t* value) {
  char* end = NULL;
  errno = 0;
  unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
  if (end == NULL || *end != '\0' || errno != 0) return wrong("--%s %s: not a whole number", name, text);
  *value = number;
  return NULL;
}

static const char* read_real(const char* name, const char* text, double* value) {
  char* end = NULL;
  *value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(*value) || *value < 0)
    return wrong("--%s %s: not a number from 0 on", name, text);
  return NULL;
}

static const char* read_hint(const char* text) {
  const char* equals = strchr(text, '=');
  if (equals == NULL || equals == text || equals - text > MPI_MAX_INFO_KEY)
    return wrong("--hint %s: not of the form KEY=VALUE", text);
  if (app_run.hint_count == APP_MAX_HINTS) return wrong("--hint %s: at most %d hints", text, APP_MAX_HINTS);
  app_run.hints[app_run.hint_count++] = text;
  return NULL;
}

bool app_is_among(const char* text, const char* choices) {
  size_t length = strlen(text);
  for (const char* at = choices; at != NULL; at = strchr(at, '|'), at += at != NULL)
    if (strcspn(at, "|") == length && strncmp(at, text, length) == 0) return true;
  return false;
}

static const char* read_value(const struct app_option* option, const char* text) {
  switch (option->kind) {
    case APP_FLAG: *(bool*)option->value = true; return NULL;
    case APP_NUMBER: return read_number(option->name, text, option->value);
    case APP_SIZE: {
      const char* end = app_read_size(text, option->value);
      return end != NULL && *end == '\0' ? NULL
                                         : wrong("--%s %s: not a size such as 4096, 4k, 1.5g", option->name, text);
    }
    case APP_REAL: return read_real(option->name, text, option->value);
    case APP_CHOICE:
      *(const char**)option->value = text;
      return app_is_among(text, option->argument)
                 ? NULL
                 : wrong("--%s %s: unknown; one of %s", option->name, text, option->argument);
    case APP_TEXT:
      if (text[0] == '\0') return wrong("--%s: empty", option->name);
      *(const char**)option->value = text;
      return NULL;
  }
  return NULL;
}

/* The option of that name, `length` letters of it; NULL if there is none. */
static const struct app_option* find(const struct app* app, const char* name, size_t length) {
  for (size_t i = 0; i < app->option_count + shared_count; ++i) {
    const struct app_option* option = i < app->option_count ? &app->options[i] : &shared_options[i - app->option_count];
    if (strlen(option->name) == length && memcmp(option->name, name, length) == 0) return option;
  }
  return NULL;
}

/* Take the option at argv[*at], and its argument behind it. */
static const char* take(const struct app* app, int argc, char** argv, int* at) {
  const char* word = argv[*at];
  const char* name = word + 2;
  size_t length = strcspn(name, "=");
  const char* value = name[length] == '=' ? name + length + 1 : NULL;
  if (strcmp(name, "no-verify") == 0) {
    app_run.verify = false;
    return NULL;
  }
  bool is_hint = length == strlen("hint") && strncmp(name, "hint", length) == 0;
  const struct app_option* option = is_hint ? NULL : find(app, name, length);
  if (!is_hint && option == NULL) return wrong("%s: unknown option", word);
  if (!is_hint && option->kind == APP_FLAG) {
    if (value != NULL) return wrong("%s: takes no value", word);
  } else if (value == NULL) {
    if (*at + 1 == argc) return wrong("%s: needs a value", word);
    value = argv[++*at];
  }
  return is_hint ? read_hint(value) : read_value(option, value);
}

/* Values that depend on each other or come from a list. */
static const char* check_shared(const struct app* app) {
  if (!app_is_among(app_run.window, "memory|storage|combined"))
    return wrong("--window %s: not memory, storage or combined", app_run.window);
  double factor = 0;
  if (strcmp(app_run.factor, "auto") != 0 && (read_real("factor", app_run.factor, &factor) != NULL || factor > 1))
    return wrong("--factor %s: not a number from 0 to 1, nor auto", app_run.factor);
  if (app_run.argument_count > 0 && app->arguments == NULL) return wrong("%s: not an option", app_run.arguments[0]);
  return NULL;
}

const char* app_parse(const struct app* app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) app_run.help |= strcmp(argv[i], "--help") == 0;
  if (app_run.help) return NULL; /* before anything changes the defaults that it shows */
  bool options = true;
  int kept = 0; /* arguments go to the front of argv, behind the program */
  for (int i = 1; i < argc; ++i) {
    if (options && strcmp(argv[i], "--") == 0) {
      options = false;
    } else if (options && strncmp(argv[i], "--", 2) == 0) {
      const char* what = take(app, argc, argv, &i);
      if (what != NULL) return what;
    } else if (options && argv[i][0] == '-' && argv[i][1] != '\0') {
      return wrong("%s: unknown option", argv[i]);
    } else {
      argv[1 + kept++] = argv[i];
    }
  }
  app_run.arguments = argv + 1;
  app_run.argument_count = kept;
  return check_shared(app);
}

/* --- help --- */

static void print_size(uint64_t bytes) {
  unsigned step = 0;
  while (step < 4 && bytes > 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++step;
  }
  printf(" (%" PRIu64 "%.1s)", bytes, &"\0kmgt"[step]);
}

static void print_option(const struct app_option* option) {
  char left[64];
  snprintf(left, sizeof left, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
           option->argument != NULL ? option->argument : "");
  printf("  %-24s %s", left, option->help);
  const char* text = option->kind >= APP_TEXT ? *(const char**)option->value : NULL;
  if (option->kind == APP_NUMBER) printf(" (%" PRIu64 ")", *(const uint64_t*)option->value);
  if (option->kind == APP_SIZE) print_size(*(const uint64_t*)option->value);
  if (option->kind == APP_REAL) printf(" (%g)", *(const double*)option->value);
  if (text != NULL) printf(" (%s)", text);
  putchar('\n');
}

void app_print_help(const struct app* app) {
  printf("%s: %s\n\nUsage: mpiexec -n RANKS %s [OPTION]...%s%s\n", app->name, app->purpose, app->name,
         app->arguments != NULL ? " " : "", app->arguments != NULL ? app->arguments : "");
  printf("For example: %s\n\n", app->example);
  for (size_t i = 0; i < app->option_count; ++i) {
    if (app->options[i].help != NULL) print_option(&app->options[i]);
  }
  puts("\nOptions of all mini-apps (defaults in brackets):");
  for (size_t i = 0; i < shared_count; ++i) print_option(&shared_options[i]);
  printf("  %-24s %s\n", "--hint KEY=VALUE", "one more hint for the windows, see `sill hints`; may be repeated");
  fflush(stdout);
}

/* --- JSON --- */

void app_print_string(FILE* file, const char* text) {
  if (text == NULL) {
    fputs("null", file);
    return;
  }
  fputc('"', file);
  for (; *text != '\0'; ++text) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\') {
      fprintf(file, "\\%c", c);
    } else if (c < ' ') {
      fprintf(file, "\\u%04x", c);
    } else {
      fputc(c, file);
    }
  }
  fputc('"', file);
}

static void print_parameter(FILE* file, const struct app_option* option) {
  app_print_string(file, option->name);
  fputs(": ", file);
  switch (option->kind) {
    case APP_FLAG: fputs(*(const bool*)option->value ? "true" : "false", file); break;
    case APP_NUMBER:
    case APP_SIZE: fprintf(file, "%" PRIu64, *(const uint64_t*)option->value); break;
    case APP_REAL: fprintf(file, "%.17g", *(const double*)option->value); break;
    case APP_TEXT:
    case APP_CHOICE: app_print_string(file, *(const char**)option->value); break;
  }
}

void app_print_parameters(FILE* file) {
  for (size_t i = 0; i < app_run.app->option_count; ++i) {
    print_parameter(file, &app_run.app->options[i]);
    fputs(", ", file);
  }
  for (size_t i = 0; i < shared_count; ++i) {
    if (shared_options[i].value == &app_run.help) continue;
    print_parameter(file, &shared_options[i]);
    fputs(", ", file);
  }
  fputs("\"hint\": [", file);
  for (size_t i = 0; i < app_run.hint_count; ++i) {
    if (i > 0) fputs(", ", file);
    app_print_string(file, app_run.hints[i]);
  }
  fputc(']', file);
}
