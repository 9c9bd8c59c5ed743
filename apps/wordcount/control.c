#include "control.h"

#include <sill/sill.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Added to the counter of tasks, this ends the round for everybody. */
#define STOPPED (UINT64_C(1) << 62)

/* The window: the counter, then the reports of all ranks. */
static MPI_Aint report_at(int rank) { return (MPI_Aint)(sizeof(uint64_t) + (size_t)rank * sizeof(struct report)); }

int control_open(struct control* control) {
  *control = (struct control){.window = MPI_WIN_NULL, .stopped_at = UINT64_MAX};
  TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &control->rank));
  TRY_MPI(MPI_Comm_size(MPI_COMM_WORLD, &control->ranks));
  MPI_Info info;
  char* memory = NULL;
  TRY_MPI(MPI_Info_create(&info));
  TRY_MPI(MPI_Info_set(info, SILL_ALLOC_TYPE, "memory"));
  MPI_Aint bytes = report_at(control->rank == 0 ? control->ranks : 0);
  TRY_MPI(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &memory, &control->window));
  TRY_MPI(MPI_Info_free(&info));
  TRY_MPI(MPI_Win_set_errhandler(control->window, MPI_ERRORS_RETURN));
  TRY_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, control->window));
  memset(memory, 0, (size_t)bytes);
  TRY_MPI(MPI_Win_sync(control->window));
  return 0;
}

static int add(struct control* control, uint64_t value, MPI_Op op, uint64_t* before) {
  TRY_MPI(MPI_Fetch_and_op(&value, before, MPI_UINT64_T, 0, 0, op, control->window));
  TRY_MPI(MPI_Win_flush(0, control->window));
  return 0;
}

int control_begin(struct control* control, uint64_t begin, uint64_t end) {
  uint64_t before = 0;
  control->end = end;
  control->stopped_at = UINT64_MAX;
  int result = control->rank == 0 ? add(control, begin, MPI_REPLACE, &before) : 0;
  return agree(result);
}

int control_take(struct control* control, uint64_t* task, bool* taken) {
  if (add(control, 1, MPI_SUM, task) != 0) return -1;
  *taken = *task < control->end;
  return 0;
}

int control_stop(struct control* control) {
  uint64_t before = 0;
  if (add(control, STOPPED, MPI_SUM, &before) != 0) return -1;
  if (control->stopped_at == UINT64_MAX) control->stopped_at = before;
  return 0;
}

int control_end(struct control* control, uint64_t* first_left) {
  *first_left = control->stopped_at < control->end ? control->stopped_at : control->end;
  TRY_MPI(MPI_Bcast(first_left, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  return 0;
}

int control_taken(struct control* control, uint64_t* tasks) {
  if (add(control, 0, MPI_NO_OP, tasks) != 0) return -1;
  if (*tasks > control->end) *tasks = control->end;
  return 0;
}

int control_report(struct control* control, const struct report* report) {
  TRY_MPI(MPI_Accumulate(report, 2, MPI_UINT64_T, 0, report_at(control->rank), 2, MPI_UINT64_T, MPI_REPLACE,
                         control->window));
  TRY_MPI(MPI_Win_flush(0, control->window));
  return 0;
}

int control_reports(struct control* control, struct report* sum) {
  struct report* reports = must_realloc(NULL, (size_t)control->ranks * sizeof *reports);
  int count = 2 * control->ranks;
  int code = MPI_Get_accumulate(NULL, 0, MPI_UINT64_T, reports, count, MPI_UINT64_T, 0, report_at(0), count,
                                MPI_UINT64_T, MPI_NO_OP, control->window);
  if (code == MPI_SUCCESS) code = MPI_Win_flush(0, control->window);
  *sum = (struct report){0, 0};
  for (int i = 0; code == MPI_SUCCESS && i < control->ranks; i++) {
    sum->dirty += reports[i].dirty;
    sum->synced += reports[i].synced;
  }
  free(reports);
  return check(code, "MPI_Get_accumulate");
}

int control_close(struct control* control) {
  if (control->window == MPI_WIN_NULL) return 0;
  TRY_MPI(MPI_Win_unlock_all(control->window));
  TRY_MPI(MPI_Win_free(&control->window));
  return 0;
}
