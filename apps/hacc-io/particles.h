/* The particles of a checkpoint: which there are, where each lies in the file, what they hold. */
#pragma once

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "near_file.h"

/* xx yy zz vx vy vz phi: float; pid: int64_t; mask: uint16_t. */
enum { variables = 9, particle_bytes = 7 * 4 + 8 + 2 };

/* A rank's part of a file; those of all ranks that share the file follow each other in the order of the ranks. */
struct share {
  MPI_Comm comm;   /* the ranks that share the file */
  uint64_t header; /* bytes before the first particle's first value */
  uint64_t total;  /* particles in the file */
  uint64_t first;  /* this rank's first place in it */
  uint64_t count;
  struct near_range* ranges; /* which particles lie there, one range after the other; together `count` */
  uint64_t range_count;
};

/* The values of a share: an array for each variable, anywhere in memory, also unaligned. */
struct particles {
  void* values[variables];
};

/* Bytes of one value of a variable. */
size_t value_bytes(int variable);

/* Behind the header the file is raw: all xx, then all yy, and so on, without a gap. So what one file of all ranks,
 * which has no header, holds depends on the number of particles alone. */
uint64_t file_bytes(const struct share* share);

/* Where the share's part of a variable begins in the file. */
uint64_t file_offset(const struct share* share, int variable);

/* Memory for a share. */
struct particles particles_allocate(const struct share* share);
void particles_free(struct particles* particles);

/* Fill in what the particles hold `steps_left` steps before the last checkpoint. */
void particles_set(struct particles* particles, const struct share* share, uint64_t steps_left);

/* Overwrite with what no checkpoint holds. */
void particles_forget(struct particles* particles, const struct share* share);

/* Use every byte once: what a program does at least with particles it has read. */
uint64_t particles_sum(const struct particles* particles, const struct share* share);

/* Compare every value with what the last checkpoint must hold; says which is the first wrong one. */
bool particles_right(const struct particles* particles, const struct share* share);
