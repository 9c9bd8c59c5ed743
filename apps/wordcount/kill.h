/* --kill-rank: a rank that ends itself with SIGKILL at a chosen moment, for demonstrations and tests. */
#ifndef WORDCOUNT_KILL_H
#define WORDCOUNT_KILL_H

#include <stdbool.h>

#include "options.h"

/* Who is to die, and in what stage. Local. */
void kill_prepare(const struct options* options, int rank);

/* Tell how much of the input is taken, 0.0 to 1.0; after --kill-at, the next kill_in() of the right stage strikes.
 * Local. */
void kill_set_share(double share);

/* Whether this rank dies in this stage: for the work that makes the moment a nasty one. Local. */
bool kill_is_due(enum kill_stage stage);

/* Die, if it is due. Local. */
void kill_in(enum kill_stage stage);

#endif
