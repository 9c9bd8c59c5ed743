/* A program's own handler of a signal that an access ends in: none, one that returns, one that jumps out. */
#ifndef SILL_TESTS_HANDLERS_H
#define SILL_TESTS_HANDLERS_H

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"

/* Where `jumps` goes, once the program has called sigsetjmp. */
static sigjmp_buf back;

static inline void say(void) {
  static const char text[] = "own handler\n";
  if (write(STDOUT_FILENO, text, sizeof text - 1) < 0) _exit(3);
}

static inline void returns(int signal_number) {
  (void)signal_number;
  say();
}

static inline void jumps(int signal_number) {
  (void)signal_number;
  say();
  siglongjmp(back, 1);
}

/* Takes `which` (none, returns, jumps) for the signal. */
static inline void take_handler(int signal_number, const char* which) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = strcmp(which, "jumps") == 0 ? jumps : returns;
  if (strcmp(which, "none") != 0) CHECK_EQ(sigaction(signal_number, &action, NULL), 0);
}

#endif
