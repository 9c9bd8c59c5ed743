/* Copying between a neighborhood's file and the canonical one, unit by unit, with a journal of what is done. */
#pragma once

#include <mpi.h>

#include "near_file.h"

enum { path_room = 4096 };

/* What of a copy is durable: a file beside the neighborhood's, with the checksums of each unit that is done. */
struct journal {
  char path[path_room];
  int fd;
};

/* One neighborhood's part of the work. */
struct copy {
  MPI_Comm comm; /* the neighborhood */
  int rank;      /* in it */
  bool out;      /* from the neighborhood's file to the canonical one, or back */
  struct near_file format;
  char near[path_room], canonical[path_room]; /* final names */
  char source[path_room], target[path_room];  /* as they are opened; the target is renamed at the end */
  int source_fd, target_fd;
  struct journal journal;
  uint64_t stop_after; /* units of this rank, for tests; 0: all */
};

/* Open the journal of a copy into that file (its inode), from the beginning if `fresh` or if it is another copy's.
 * Collective over the neighborhood. */
void journal_open(struct copy* copy, bool fresh, uint64_t inode);

/* The checksums of units first.. of the journal, 0 where a unit isn't done. Local. */
void journal_read(const struct copy* copy, uint64_t first, uint64_t count, uint64_t* checksums);

/* Note units as done; call it when their bytes are durable. Local. */
void journal_write(const struct copy* copy, uint64_t first, uint64_t count, const uint64_t* checksums);

/* Close and remove it. Collective over the neighborhood. */
void journal_close(struct copy* copy);

/* Copy what isn't done; a unit that doesn't fit its checksum ends the app. Returns the bytes that this rank copied.
 * Collective over MPI_COMM_WORLD. */
uint64_t copy_units(struct copy* copy);

/* Read the target again, from the device if the kernel can forget, and compare with the checksums. Collective over
 * MPI_COMM_WORLD. */
bool copy_right(struct copy* copy);
