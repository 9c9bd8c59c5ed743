/* Errors, sizes and agreement between ranks: what every part of sill-wordcount needs. */
#ifndef WORDCOUNT_UTIL_H
#define WORDCOUNT_UTIL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Remember why this rank failed (the first reason stays) and return -1, so that `return fail(...)` reads well. Local.
 */
int fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* The remembered reason, "" if there is none. Local. */
const char* failure(void);

/* Turn an MPI return code into 0 or a failure that names `call`. Local. */
int check(int code, const char* call);

/* Leave the calling function with -1 if the MPI call failed. */
#define TRY_MPI(call)                         \
  do {                                        \
    if (check((call), #call) != 0) return -1; \
  } while (0)

/* Complete all operations on the window's `ranks` ranks, at their targets. One by one, because MPI_Win_flush_all of
 * MPICH 4.0 over UCX returns while gets are still under way. One-sided. */
int flush_ranks(MPI_Win window, int ranks);

/* Whether all ranks succeeded: 0 if every rank passes 0, else -1 on every rank. Collective over MPI_COMM_WORLD. */
int agree(int result);

/* Print the reason of the lowest failed rank as one line on standard error. Collective over MPI_COMM_WORLD. */
void print_failure(void);

/* Print the remembered reason and end the job: for failures after which the other ranks would wait in vain. Local. */
_Noreturn void give_up(void);

/* Memory or the end of the program: a rank without memory can't take part in anything any more. Local. */
void* must_realloc(void* old, size_t bytes);

/* The next hash of a byte string, 8 bytes at a time; start with hash = 0. Local. */
uint64_t hash_bytes(uint64_t hash, const void* data, size_t bytes);

#endif
