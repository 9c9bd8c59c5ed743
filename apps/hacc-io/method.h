/* A way to write checkpoints into one file that all ranks share, and to read the last one back. Failures end the app.
 */
#pragma once

#include "particles.h"

struct method {
  const char* name;
  /* Open the file; `create`: it may have to be made. Path and share are used until close(). Collective. */
  void (*open)(const char* path, const struct share* share, bool create);
  /* Hand over this rank's particles. Collective. */
  void (*write)(const struct particles* particles);
  /* Make what was written durable. Collective. */
  void (*sync)(void);
  /* Get this rank's particles: into the arrays, or arrays elsewhere that end with close(). Collective. */
  void (*read)(struct particles* particles);
  /* `keep`: leave the file. Collective. */
  void (*close)(bool keep);
};

extern const struct method window_method, mpiio_method, mpiio_collective_method, posix_method;
