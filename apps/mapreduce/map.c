#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "app.h"
#include "job.h"

enum { between_bytes = 256 << 10 }; /* text in a millisecond or so */

void job_map(struct job* job, struct text* text, void (*between)(void* argument), void* argument) {
  double start = app_seconds();
  size_t pause = between_bytes;
  words_clear(&job->mapped);
  if (job->mapped.count > 4u << 20) words_free(&job->mapped); /* words of tasks long ago */
  for (size_t at = 0; at < text->count;) {
    if (at >= pause) {
      between(argument);
      pause = at + between_bytes;
    }
    size_t begin = at;
    for (char lower; at < text->count && (lower = lower_letter(text->bytes[at])) != 0; at++) text->bytes[at] = lower;
    if (at > begin) {
      words_add(&job->mapped, text->bytes + begin, at - begin, 1);
    } else {
      at++;
    }
  }
  job->times.map += app_seconds() - start;
}

uint64_t job_run_number(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) app_fail("no clock: errno %d", errno);
  uint64_t parts[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid()};
  uint64_t run = hash_bytes(0, parts, sizeof parts) | 1; /* 0 stands for none */
  APP_TRY(MPI_Bcast(&run, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  return run;
}
