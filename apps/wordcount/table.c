#include "table.h"

#include <sill/sill.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kill.h"
#include "util.h"

/* Without Sill there is no such function, and no window is on storage. */
#pragma weak sill_win_get_stats

#define HEADER_BYTES 4096
#define BLOCK_BYTES 4096                          /* what the copy of a generation compares at a time */
static const uint64_t magic = 0x313074776c6c6973; /* "sillwt01" on little-endian machines */

/* The begin of each rank's segment. Written once; only `commits` of rank 0 changes. */
struct header {
  uint64_t magic;
  uint64_t commits;
  uint64_t rank, ranks;
  uint64_t slots, heap_bytes;
  uint64_t task_bytes;
  uint64_t identity; /* of the input */
  uint64_t sum;      /* over the above, but for commits */
};

static uint64_t generation_bytes(const struct table* table) {
  return sizeof(struct state) + table->slots * sizeof(struct slot) + table->heap_bytes;
}

static uint64_t segment_bytes(const struct table* table) { return HEADER_BYTES + 2 * generation_bytes(table); }

uint64_t table_bytes(const struct table* table) { return segment_bytes(table) * (uint64_t)table->ranks; }

MPI_Aint table_generation_at(const struct table* table, enum generation which) {
  uint64_t number = which == COMMITTED ? table->commits : table->commits + 1;
  return (MPI_Aint)(HEADER_BYTES + number % 2 * generation_bytes(table));
}

MPI_Aint table_slot_at(const struct table* table, enum generation which, uint64_t slot) {
  return table_generation_at(table, which) + (MPI_Aint)(sizeof(struct state) + slot * sizeof(struct slot));
}

MPI_Aint table_heap_at(const struct table* table, enum generation which) {
  return table_slot_at(table, which, table->slots);
}

int table_owner(const struct table* table, uint64_t hash) { return (int)(hash % (uint64_t)table->ranks); }

uint64_t table_home(const struct table* table, uint64_t hash) { return hash / (uint64_t)table->ranks % table->slots; }

static struct state* local_state(const struct table* table, enum generation which) {
  return (struct state*)(table->segment + table_generation_at(table, which));
}

/* The hash of what a generation holds: everything but its sum and the unused end of its heap. */
static uint64_t generation_sum(const struct table* table, enum generation which) {
  const struct state* state = local_state(table, which);
  uint64_t bytes = sizeof *state + table->slots * sizeof(struct slot) + state->heap_used;
  return hash_bytes(0, &state->heap_used, bytes - sizeof state->sum);
}

static uint64_t header_sum(const struct header* header) {
  return hash_bytes(header->magic, &header->rank, offsetof(struct header, sum) - offsetof(struct header, rank));
}

static struct header header_for(const struct table* table, const struct input* input) {
  struct header header = {.magic = magic,
                          .rank = (uint64_t)table->rank,
                          .ranks = (uint64_t)table->ranks,
                          .slots = table->slots,
                          .heap_bytes = table->heap_bytes,
                          .task_bytes = input->task_bytes,
                          .identity = input->identity};
  header.sum = header_sum(&header);
  return header;
}

/* One store that a kill can't tear, nor the compiler move across another one of these. */
static void store_word(uint64_t* to, uint64_t value) { *(volatile uint64_t*)to = value; }

/* MPI_Win_sync orders memory and, on a storage window, makes this rank's segment durable. */
static int sync_segment(struct table* table) {
  TRY_MPI(MPI_Win_sync(table->window));
  return 0;
}

/* Rounded up to whole blocks, so that all parts stay aligned. */
static uint64_t rounded(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static void choose_size(struct table* table, const struct options* options, const struct input* input) {
  uint64_t capacity = options->capacity;
  if (capacity == 0) capacity = input->bytes / 96 > 131072 ? input->bytes / 96 : 131072;
  table->slots = rounded(rounded(capacity, (uint64_t)table->ranks) / (uint64_t)table->ranks, 16);
  uint64_t heap = options->heap_bytes;
  if (heap == 0) heap = 8 * table->slots > 1 << 20 ? 8 * table->slots : 1 << 20;
  table->heap_bytes = rounded(heap, 64);
}

static int set_hint(MPI_Info info, const char* key, const char* value) {
  TRY_MPI(MPI_Info_set(info, key, value));
  return 0;
}

/* Hints for the table's window; MPI_INFO_NULL leaves it to SILL_WINDOWS. */
static int make_info(const struct options* options, MPI_Info* info) {
  *info = MPI_INFO_NULL;
  if (options->window == WINDOW_DEFAULT) return 0;
  TRY_MPI(MPI_Info_create(info));
  if (options->window == WINDOW_MEMORY) return set_hint(*info, SILL_ALLOC_TYPE, "memory");
  char name[MPI_MAX_INFO_VAL];
  size_t used = 0;
  for (const char* from = options->store; *from != '\0'; from++) { /* % means something in the hint */
    if (used + 32 > sizeof name) return fail("--store: the name is too long");
    name[used++] = *from;
    if (*from == '%') name[used++] = '%';
  }
  snprintf(name + used, sizeof name - used, "/wordcount.%%r");
  if (set_hint(*info, SILL_ALLOC_TYPE, "storage") != 0) return -1;
  return set_hint(*info, SILL_ALLOC_FILENAME, name);
}

/* Whether any of the segment is on storage. */
static int look_at_storage(struct table* table) {
  sill_win_stats stats = {0};
  if (sill_win_get_stats != NULL) TRY_MPI(sill_win_get_stats(table->window, &stats));
  table->on_storage = stats.storage_bytes > 0;
  return 0;
}

static int allocate(struct table* table, const struct options* options) {
  MPI_Info info = MPI_INFO_NULL;
  if (agree(make_info(options, &info)) != 0) return -1;
  int code = MPI_Win_allocate((MPI_Aint)segment_bytes(table), 1, info, MPI_COMM_WORLD, &table->segment, &table->window);
  if (info != MPI_INFO_NULL) TRY_MPI(MPI_Info_free(&info));
  if (agree(check(code, "MPI_Win_allocate")) != 0) return -1;
  TRY_MPI(MPI_Win_set_errhandler(table->window, MPI_ERRORS_RETURN));
  TRY_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, table->window));
  int result = look_at_storage(table);
  if (result == 0 && options->window == WINDOW_STORAGE && !table->on_storage)
    result = fail("the table can't go to storage, for Sill isn't loaded: start with `sill run`");
  return agree(result);
}

/* Make the live generation a copy of the committed one. Blocks that are the same stay as they are, so that the next
 * sync has less to write. Puts to oneself rather than stores: other ranks may update right after the barrier. */
static int copy_generation(struct table* table) {
  const char* from = table->segment + table_generation_at(table, COMMITTED);
  const char* old = table->segment + table_generation_at(table, LIVE);
  uint64_t bytes = generation_bytes(table) - table->heap_bytes + local_state(table, COMMITTED)->heap_used;
  for (uint64_t at = 0; at < bytes;) {
    uint64_t begin = at;
    while (at < bytes && at - begin < 1 << 20) {
      uint64_t block = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
      if (memcmp(from + at, old + at, block) == 0) break;
      at += block;
    }
    if (at > begin)
      TRY_MPI(MPI_Put(from + begin, (int)(at - begin), MPI_BYTE, table->rank, old - table->segment + (MPI_Aint)begin,
                      (int)(at - begin), MPI_BYTE, table->window));
    else
      at += BLOCK_BYTES;
    if (at >= bytes / 2 && kill_is_due(KILL_COPY)) {
      TRY_MPI(MPI_Win_flush(table->rank, table->window));
      kill_in(KILL_COPY);
    }
  }
  TRY_MPI(MPI_Win_flush(table->rank, table->window));
  return 0;
}

/* An empty table. Rank 0 first takes back the number of commits, for from there on no generation is whole. */
static int start_empty(struct table* table, const struct input* input) {
  struct header* header = (struct header*)table->segment;
  table->commits = 0;
  store_word(&header->magic, magic); /* first: a header without it, but not empty, is somebody else's */
  store_word(&header->commits, 0);
  if (agree(sync_segment(table)) != 0) return -1;
  static const char zeros[BLOCK_BYTES];
  uint64_t bytes = 2 * generation_bytes(table);
  for (uint64_t at = 0; at < bytes; at += BLOCK_BYTES) { /* a new file is zero, and stays without pages where it is */
    char* block = table->segment + HEADER_BYTES + at;
    size_t size = bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES;
    if (memcmp(block, zeros, size) != 0) memset(block, 0, size);
  }
  *header = header_for(table, input);
  return agree(sync_segment(table));
}

/* Whether the segment, valid or new, may be taken for a table. Memory may hold anything. */
static int refuse_foreign(struct table* table) {
  struct header* header = (struct header*)table->segment;
  static const struct header empty;
  if (!table->on_storage) *header = empty;
  if (memcmp(header, &empty, sizeof empty) == 0 || header->magic == magic) return 0;
  return fail("rank %d: the storage of the window holds something else than a word count; use another one",
              table->rank);
}

/* Whether this rank's segment belongs to the same work as is to be done now. */
static int compare_header(const struct table* table, const struct input* input) {
  const struct header* found = (const struct header*)table->segment;
  struct header wanted = header_for(table, input);
  static const char advice[] = "start anew with --fresh, or use another store";
  if (found->magic != magic || found->sum != header_sum(found))
    return fail("rank %d: its part of the table is missing or damaged; %s", table->rank, advice);
  if (found->ranks != wanted.ranks)
    return fail("the table is that of %llu ranks, not %d: run with as many, %s", (unsigned long long)found->ranks,
                table->ranks, advice);
  if (found->rank != wanted.rank) return fail("the table's file of rank %d is that of another rank", table->rank);
  if (found->task_bytes != wanted.task_bytes)
    return fail("the table was begun with --task-size %llu; %s", (unsigned long long)found->task_bytes, advice);
  if (found->identity != wanted.identity)
    return fail("the table is about another input, or files have changed since; %s", advice);
  if (found->slots != wanted.slots || found->heap_bytes != wanted.heap_bytes)
    return fail("the table was begun with --capacity %llu --heap %llu; %s",
                (unsigned long long)(found->slots * found->ranks), (unsigned long long)found->heap_bytes, advice);
  return 0;
}

static int check_committed(const struct table* table) {
  const struct state* state = local_state(table, COMMITTED);
  if (state->heap_used <= table->heap_bytes && state->sum == generation_sum(table, COMMITTED)) return 0;
  return fail("rank %d: its part of the table is damaged, or not wholly on storage; start anew with --fresh",
              table->rank);
}

static int take_up(struct table* table, const struct input* input, uint64_t commits, uint64_t* tasks_done) {
  if (agree(compare_header(table, input)) != 0) return -1;
  table->commits = commits;
  if (agree(check_committed(table)) != 0) return -1;
  /* The number of commits may so far be in the page cache alone. */
  if (agree(sync_segment(table)) != 0) return -1;
  if (agree(copy_generation(table)) != 0) return -1;
  struct state state;
  if (agree(table_state(table, COMMITTED, &state)) != 0) return -1;
  *tasks_done = state.tasks;
  return 0;
}

int table_open(struct table* table, const struct options* options, const struct input* input, uint64_t* tasks_done) {
  *table = (struct table){.window = MPI_WIN_NULL};
  *tasks_done = 0;
  TRY_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &table->rank));
  TRY_MPI(MPI_Comm_size(MPI_COMM_WORLD, &table->ranks));
  choose_size(table, options, input);
  if (allocate(table, options) != 0) return -1;
  if (agree(refuse_foreign(table)) != 0) return -1;
  uint64_t commits = options->fresh ? 0 : ((struct header*)table->segment)->commits;
  TRY_MPI(MPI_Bcast(&commits, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD));
  if (commits == 0) return start_empty(table, input);
  return take_up(table, input, commits, tasks_done);
}

/* Step 2: the live generation, whole and durable on this rank. */
static int seal_generation(struct table* table, uint64_t tasks) {
  if (sync_segment(table) != 0) return -1;
  struct state* state = local_state(table, LIVE);
  if (table->rank == 0) state->tasks = tasks;
  state->sum = generation_sum(table, LIVE);
  return sync_segment(table);
}

/* Step 3: the one store that makes it the committed one. */
static int publish_commit(struct table* table) {
  if (table->rank != 0) return 0;
  store_word(&((struct header*)table->segment)->commits, table->commits + 1);
  return sync_segment(table);
}

int table_commit(struct table* table, uint64_t tasks) {
  double begin = MPI_Wtime();
  if (agree(flush_ranks(table->window, table->ranks)) != 0) return -1;
  kill_in(KILL_SYNC);
  if (agree(seal_generation(table, tasks)) != 0) return -1;
  kill_in(KILL_COMMIT);
  if (agree(publish_commit(table)) != 0) return -1;
  table->commits++;
  int result = agree(copy_generation(table));
  table->sync_s += MPI_Wtime() - begin;
  return result;
}

int table_state(struct table* table, enum generation which, struct state* state) {
  TRY_MPI(MPI_Get_accumulate(NULL, 0, MPI_UINT64_T, state, sizeof *state / sizeof(uint64_t), MPI_UINT64_T, 0,
                             table_generation_at(table, which), sizeof *state / sizeof(uint64_t), MPI_UINT64_T,
                             MPI_NO_OP, table->window));
  TRY_MPI(MPI_Win_flush(0, table->window));
  return 0;
}

int table_close(struct table* table) {
  if (table->window == MPI_WIN_NULL) return 0;
  TRY_MPI(MPI_Win_unlock_all(table->window));
  TRY_MPI(MPI_Win_free(&table->window));
  return 0;
}
