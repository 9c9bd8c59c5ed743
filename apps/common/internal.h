/* What run.c, options.c, app.c and report.c share. Each calls those before it alone. */
#pragma once

#include <stdio.h>

#include "app.h"

enum { APP_MAX_HINTS = 32, APP_PATH_ROOM = 4200 };

struct app_run {
  const struct app* app;
  int rank, ranks;
  MPI_Comm comm; /* of app_fail, app_end and app_slowest alone */
  const char* window;
  const char* store;
  const char* factor;
  const char* hints[APP_MAX_HINTS];
  size_t hint_count;
  const char* json; /* NULL: not wanted */
  bool keep, verify, quiet, help;
  char** arguments;
  int argument_count;
};

extern struct app_run app_run;

/* "12.3 GB/s" for a person; in a static text. Local. */
const char* app_readable(double value, const char* unit);

/* Read the command line into app_run and the app's options. NULL, or what is wrong, in a static text. Local. */
const char* app_parse(const struct app* app, int argc, char** argv);

/* Write the text of --help to standard output. Local. */
void app_print_help(const struct app* app);

/* Write `"NAME": VALUE` of all options, separated by ", ". Local. */
void app_print_parameters(FILE* file);

/* Write a JSON string, null for NULL. Local. */
void app_print_string(FILE* file, const char* text);
