#include "kill.h"

#include <signal.h>
#include <stdlib.h>

#include "show.h"

static struct {
  bool armed, due, last;
  int rank;
  enum kill_stage stage;
  double at;
} plan;

void kill_prepare(const struct options* options, int rank) {
  plan.armed = options->kill_rank == rank;
  plan.rank = rank;
  plan.stage = options->kill_stage;
  plan.at = options->kill_at;
}

void kill_set_share(double share) {
  plan.due = plan.armed && share >= plan.at;
  plan.last = share >= 1;
}

bool kill_is_due(enum kill_stage stage) {
  /* A rank that got no task late enough dies in the last sync instead. */
  return plan.due && (stage == plan.stage || (stage == KILL_SYNC && plan.stage == KILL_TASK && plan.last));
}

void kill_in(enum kill_stage stage) {
  static const char* const names[] = {"in the middle of a task", "before a sync", "before a commit", "during a copy"};
  if (!kill_is_due(stage)) return;
  show_kill(plan.rank, names[stage]);
  raise(SIGKILL);
  abort();
}
