/* The ways in which MPI gives global memory. */
#pragma once

#include "app.h"

/* Memory of this rank that others reach through `win`. */
struct memory {
  char* base;
  MPI_Win win;
  MPI_Win shared;  /* what lies below a dynamic window, MPI_WIN_NULL if that isn't a window */
  MPI_Aint* begin; /* displacement of each rank's memory in `win`; NULL: 0 */
};

struct method {
  const char* name;
  const char* calls; /* for --help and the result */
  void (*get)(struct memory* memory, uint64_t bytes);
  void (*release)(struct memory* memory);
};

extern const struct method methods[];
extern const size_t method_count;

/* Make, and free, what all methods share: a communicator of the node's ranks, room for addresses. Collective. */
void methods_begin(void);
void methods_end(void);
