#include "table.h"

#include <inttypes.h>
#include <sill/sill.h>
#include <stddef.h>
#include <string.h>

#include "app.h"

/* Without Sill there is no such function. */
#pragma weak sill_win_sync_all

/* Windows count in words of 8 bytes. A bucket or cell is a key, 0 if there is none, and the link to the next cell: its
 * number from 1, 0 at the end of the chain. */
enum { word = 8, key_word = 0, link_word = 1, pair_words = 2, header_words = 512 };

static const uint64_t magic = UINT64_C(0x53494c4c2d444854);

/* At the begin of each rank's buckets, which follow on the next page. */
struct table_header {
  uint64_t magic; /* 0: no table */
  struct table_shape shape;
  uint64_t ranks, rank;
  uint64_t synced;     /* so many of this rank's keys are durable */
  uint64_t cells_used; /* counted up by whoever takes a cell */
};
static const MPI_Aint used_at = offsetof(struct table_header, cells_used) / word;

/* A bucket or a cell of a rank. */
struct place {
  MPI_Win window;
  int rank;
  MPI_Aint at;
};

/* --- the four one-sided operations that all is made of --- */

/* Put `value` where a 0 is. Returns what was there. */
static uint64_t swap_if_zero(const struct place* place, int part, uint64_t value) {
  uint64_t zero = 0, before = 0;
  APP_TRY(MPI_Compare_and_swap(&value, &zero, &before, MPI_UINT64_T, place->rank, place->at + part, place->window));
  APP_TRY(MPI_Win_flush(place->rank, place->window));
  return before;
}

/* An atomic read, for a link that others may set meanwhile. */
static uint64_t read_link(const struct place* place) {
  uint64_t none = 0, link = 0;
  APP_TRY(MPI_Fetch_and_op(&none, &link, MPI_UINT64_T, place->rank, place->at + link_word, MPI_NO_OP, place->window));
  APP_TRY(MPI_Win_flush(place->rank, place->window));
  return link;
}

/* A plain read, for what nobody changes any more. */
static void read_words(const struct place* place, uint64_t* words, int count) {
  APP_TRY(MPI_Get(words, count, MPI_UINT64_T, place->rank, place->at, count, MPI_UINT64_T, place->window));
  APP_TRY(MPI_Win_flush(place->rank, place->window));
}

/* Take a cell of the rank's heap and put the key into it. Returns the link to it, which nobody else knows yet. */
static uint64_t take_cell(struct table* table, int rank, uint64_t key) {
  uint64_t one = 1, taken = 0, pair[pair_words] = {key, 0};
  APP_TRY(MPI_Fetch_and_op(&one, &taken, MPI_UINT64_T, rank, used_at, MPI_SUM, table->buckets));
  APP_TRY(MPI_Win_flush(rank, table->buckets));
  if (taken >= table->shape.cells)
    app_fail("the heap of rank %d is full with %" PRIu64 " cells: a larger --heap-factor helps", rank,
             table->shape.cells);
  MPI_Aint at = (MPI_Aint)taken * pair_words;
  APP_TRY(MPI_Put(pair, pair_words, MPI_UINT64_T, rank, at, pair_words, MPI_UINT64_T, table->heap));
  APP_TRY(MPI_Win_flush(rank, table->heap));
  return taken + 1;
}

/* --- inserting and looking up --- */

static struct place bucket_of(const struct table* table, uint64_t key) {
  uint64_t state = key, hash = app_random(&state), ranks = (uint64_t)table->ranks;
  MPI_Aint bucket = (MPI_Aint)(hash / ranks % table->shape.volume);
  return (struct place){table->buckets, (int)(hash % ranks), header_words + bucket * pair_words};
}

static struct place cell_at(const struct table* table, int rank, uint64_t link) {
  return (struct place){table->heap, rank, (MPI_Aint)(link - 1) * pair_words};
}

void table_insert(struct table* table, uint64_t key) {
  struct place place = bucket_of(table, key);
  uint64_t there = swap_if_zero(&place, key_word, key);
  if (there == 0) return;
  for (uint64_t cell = 0; there != key; read_words(&place, &there, 1)) {
    uint64_t link = read_link(&place);
    if (link == 0) {
      if (cell == 0) cell = take_cell(table, place.rank, key);
      link = swap_if_zero(&place, link_word, cell);
      if (link == 0) return;
    }
    if (link > table->shape.cells) app_fail("the table is damaged: a link of rank %d leads nowhere", place.rank);
    place = cell_at(table, place.rank, link);
  }
}

bool table_contains(const struct table* table, uint64_t key) {
  struct place place = bucket_of(table, key);
  for (uint64_t steps = 0; steps <= table->shape.cells; steps++) {
    uint64_t pair[pair_words] = {0, 0};
    read_words(&place, pair, pair_words);
    if (pair[key_word] == key) return true;
    uint64_t link = pair[link_word];
    if (link == 0 || link > table->shape.cells) return false;
    place = cell_at(table, place.rank, link);
  }
  return false; /* damaged: a chain without end */
}

/* --- the table's life --- */

static uint64_t* allocate(uint64_t words, MPI_Info info, MPI_Win* window) {
  uint64_t* base = NULL;
  APP_TRY(MPI_Win_allocate((MPI_Aint)(words * word), word, info, MPI_COMM_WORLD, &base, window));
  APP_TRY(MPI_Win_set_errhandler(*window, MPI_ERRORS_RETURN));
  return base;
}

void table_open(struct table* table, const struct table_shape* shape, MPI_Info buckets, MPI_Info heap) {
  *table = (struct table){.shape = *shape, .ranks = app_ranks()};
  uint64_t* base = allocate(header_words + shape->volume * pair_words, buckets, &table->buckets);
  table->header = (struct table_header*)base;
  table->own_buckets = base + header_words;
  table->own_cells = allocate(shape->cells * pair_words, heap, &table->heap);
}

uint64_t table_synced(struct table* table, uint64_t* mine) {
  const struct table_header* header = table->header;
  const struct table_shape* was = &header->shape;
  bool there = header->magic == magic;
  if (there && (memcmp(was, &table->shape, sizeof *was) != 0 || header->ranks != (uint64_t)table->ranks ||
                header->rank != (uint64_t)app_rank()))
    app_fail("the table in %s is another one: of rank %" PRIu64 " of %" PRIu64 ", with --seed %" PRIu64
             " --volume %" PRIu64 ", %" PRIu64 " heap cells and %" PRIu64 " keys",
             app_store(), header->rank, header->ranks, was->seed, was->volume, was->cells, was->keys);
  *mine = there ? header->synced : 0;
  uint64_t all = 0;
  APP_TRY(MPI_Allreduce(mine, &all, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD));
  return all;
}

/* Until table_begin() this rank is alone with its own share: plain loads and stores under locks of its own. */
static void lock_own(struct table* table) {
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, app_rank(), 0, table->buckets));
  APP_TRY(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, app_rank(), 0, table->heap));
}

static void unlock_own(struct table* table) {
  APP_TRY(MPI_Win_unlock(app_rank(), table->heap));
  APP_TRY(MPI_Win_unlock(app_rank(), table->buckets));
}

void table_clear(struct table* table) {
  struct table_header* header = table->header;
  lock_own(table);
  uint64_t used = header->cells_used < table->shape.cells ? header->cells_used : table->shape.cells;
  header->magic = 0; /* durable before anything else: half of an old table would be worse than none */
  APP_TRY(MPI_Win_sync(table->buckets));
  memset(table->own_buckets, 0, table->shape.volume * pair_words * word);
  memset(table->own_cells, 0, used * pair_words * word);
  *header = (struct table_header){
      .magic = magic, .shape = table->shape, .ranks = (uint64_t)table->ranks, .rank = (uint64_t)app_rank()};
  unlock_own(table);
}

/* The largest link among the pairs, or `largest`. */
static uint64_t largest_link(const uint64_t* pairs, uint64_t count, uint64_t largest) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t link = pairs[i * pair_words + link_word];
    if (link > largest) largest = link;
  }
  return largest;
}

void table_recover(struct table* table) {
  /* The pages that a crash leaves are of different times: the counter may be older than a cell that it handed out. */
  lock_own(table);
  uint64_t used = largest_link(table->own_buckets, table->shape.volume, table->header->cells_used);
  table->header->cells_used =
      largest_link(table->own_cells, used < table->shape.cells ? used : table->shape.cells, used);
  unlock_own(table);
}

void table_begin(struct table* table) {
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  APP_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, table->buckets));
  APP_TRY(MPI_Win_lock_all(MPI_MODE_NOCHECK, table->heap));
}

/* Make the window's storage durable, that of every rank by its owner. MPI_Win_sync would also look at what the other
 * ranks of the node have; without Sill there is only memory, and nothing to do. */
static void sync_all(MPI_Win window) {
  APP_TRY(sill_win_sync_all != NULL ? sill_win_sync_all(window) : MPI_Barrier(MPI_COMM_WORLD));
}

void table_sync(struct table* table, uint64_t keys) {
  sync_all(table->heap); /* every insert is complete by now, for each flushed what it did */
  sync_all(table->buckets);
  table->header->synced = keys; /* all ranks' data are durable: now it may be said */
  sync_all(table->buckets);
}

void table_corrupt(struct table* table) {
  uint64_t bucket = 0;
  while (bucket + 1 < table->shape.volume && table->own_buckets[bucket * pair_words] == 0) bucket++;
  table->own_buckets[bucket * pair_words] ^= 1;
  APP_TRY(MPI_Win_sync(table->buckets));
}

void table_close(struct table* table) {
  APP_TRY(MPI_Win_unlock_all(table->heap));
  APP_TRY(MPI_Win_unlock_all(table->buckets));
  APP_TRY(MPI_Win_free(&table->heap));
  APP_TRY(MPI_Win_free(&table->buckets));
}
