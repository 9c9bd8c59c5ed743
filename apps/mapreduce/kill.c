#include "kill.h"

#include <signal.h>
#include <stdlib.h>

#include "show.h"

static struct {
  bool armed, due;
  enum kill_stage stage;
} plan;

void kill_prepare(bool armed, enum kill_stage stage) {
  plan.armed = armed;
  plan.stage = stage;
}

bool kill_armed(void) { return plan.armed; }

void kill_now_due(void) { plan.due = plan.armed; }

void kill_in(enum kill_stage stage) {
  static const char* const names[] = {"in the middle of a task", "before a checkpoint", "during the reduce"};
  if (!plan.due || (stage != plan.stage && stage != KILL_REDUCE)) return;
  show_kill(names[stage]);
  raise(SIGKILL);
  abort();
}
