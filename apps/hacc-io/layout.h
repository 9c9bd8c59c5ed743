/* Which file a rank's particles lie in, and where: one file of all ranks, or one for each neighborhood. */
#pragma once

#include "near_file.h"
#include "particles.h"

struct checkpoint_file {
  char path[4096];
  struct share share;
  bool near;
  struct near_file format; /* of a neighborhood's file; checksums of a new checkpoint only at the lowest rank */
};

/* What the options say. */
struct layout {
  bool near;
  const char* folder; /* of the global file, or of the near ones: a pattern for app_folder */
  const char* method; /* nbhd_method; NULL: its default */
  uint64_t particles; /* of all ranks */
  uint64_t chunk;     /* particles in a chunk of a near file */
};

/* Where the ranks' particles go, or, for a restart alone, where those lie that it finds: near files may be read by
 * other numbers of ranks than wrote them, as long as each is read by somebody. Collective. */
struct checkpoint_file layout_for_checkpoint(const struct layout* layout);
struct checkpoint_file layout_for_restart(const struct layout* layout);
void layout_free(struct checkpoint_file* file);

/* Before a checkpoint: from here on a near file is marked as incomplete. Collective over the file's ranks. */
void layout_begin(struct checkpoint_file* file);

/* When the particles are durable: complete, with their checksums. Collective over the file's ranks. */
void layout_commit(struct checkpoint_file* file, const struct particles* particles);
