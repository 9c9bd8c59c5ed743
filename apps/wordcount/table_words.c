/* Words in the table: finding and inserting them in batches, adding to their counts, visiting them all. */
#include <stdlib.h>
#include <string.h>

#include "kill.h"
#include "table.h"
#include "util.h"

/* What a word without a known place waits for. Each step issues operations; the flush of the round completes them. */
enum step {
  LOOK,    /* the tag of the slot */
  RESERVE, /* room in the heap */
  CLAIM,   /* whether the free slot is ours */
  FILL,    /* the letters to be there, before the tag says so */
  COMPARE, /* the letters of a slot with our hash */
  COMPARE_HEAP,
  SETTLED
};

struct search {
  struct word* word;
  enum step step;
  uint64_t slot;
  uint64_t probes;
  uint64_t result;  /* of a fetch */
  uint64_t heap_at; /* of a long word */
  bool reserved;
  uint32_t claims;
  struct slot found;
  char* heap_letters; /* of a long word, while it is compared */
};

/* The batch: searches of one table_add(). */
struct batch {
  struct table* table;
  const struct dictionary* dictionary;
  struct search* searches;
  size_t count;
};

static const uint64_t none = 0;
static const uint32_t one_claim = 1;

static bool is_long(const struct search* search) { return search->word->length > INLINE_LETTERS; }

static uint64_t heap_room(const struct search* search) { return ((uint64_t)search->word->length + 7) / 8 * 8; }

static int issue_fill(const struct batch* batch, struct search* search) {
  const struct table* table = batch->table;
  const struct word* word = search->word;
  const char* letters = batch->dictionary->letters + word->text;
  int owner = table_owner(table, word->hash);
  MPI_Aint at = table_slot_at(table, LIVE, search->slot);
  search->found.length = word->length;
  if (is_long(search)) {
    memcpy(search->found.letters, &search->heap_at, sizeof search->heap_at);
    TRY_MPI(MPI_Put(letters, (int)word->length, MPI_BYTE, owner, table_heap_at(table, LIVE) + (MPI_Aint)search->heap_at,
                    (int)word->length, MPI_BYTE, table->window));
  } else {
    memcpy(search->found.letters, letters, word->length);
  }
  const int bytes = sizeof(struct slot) - offsetof(struct slot, length);
  TRY_MPI(MPI_Put(&search->found.length, bytes, MPI_BYTE, owner, at + (MPI_Aint)offsetof(struct slot, length), bytes,
                  MPI_BYTE, table->window));
  return 0;
}

static int issue_compare_heap(const struct batch* batch, struct search* search) {
  const struct table* table = batch->table;
  uint32_t length = search->word->length;
  uint64_t at;
  memcpy(&at, search->found.letters, sizeof at);
  search->heap_letters = must_realloc(search->heap_letters, length);
  TRY_MPI(MPI_Get(search->heap_letters, (int)length, MPI_BYTE, table_owner(table, search->word->hash),
                  table_heap_at(table, LIVE) + (MPI_Aint)at, (int)length, MPI_BYTE, table->window));
  return 0;
}

/* Start what the search waits for. */
static int issue(const struct batch* batch, struct search* search) {
  const struct table* table = batch->table;
  MPI_Win window = table->window;
  int owner = table_owner(table, search->word->hash);
  MPI_Aint at = table_slot_at(table, LIVE, search->slot);
  const int bytes = sizeof(struct slot) - offsetof(struct slot, length);
  switch (search->step) {
    case LOOK:
      TRY_MPI(MPI_Fetch_and_op(&none, &search->result, MPI_UINT64_T, owner, at, MPI_NO_OP, window));
      break;
    case RESERVE:
      search->heap_at = heap_room(search); /* what is added; the result is where it begins */
      TRY_MPI(MPI_Fetch_and_op(&search->heap_at, &search->result, MPI_UINT64_T, owner,
                               table_generation_at(table, LIVE) + (MPI_Aint)offsetof(struct state, heap_used), MPI_SUM,
                               window));
      break;
    case CLAIM:
      TRY_MPI(MPI_Fetch_and_op(&one_claim, &search->claims, MPI_UINT32_T, owner,
                               at + (MPI_Aint)offsetof(struct slot, claims), MPI_SUM, window));
      break;
    case FILL:
      return issue_fill(batch, search);
    case COMPARE:
      TRY_MPI(MPI_Get(&search->found.length, bytes, MPI_BYTE, owner, at + (MPI_Aint)offsetof(struct slot, length),
                      bytes, MPI_BYTE, window));
      break;
    case COMPARE_HEAP:
      return issue_compare_heap(batch, search);
    case SETTLED:
      break;
  }
  return 0;
}

/* The slot holds another word: look at the next one. */
static int go_on(const struct table* table, struct search* search) {
  search->slot = (search->slot + 1) % table->slots;
  search->step = LOOK;
  if (++search->probes < table->slots) return 0;
  return fail("the table is full: start anew with --fresh and a --capacity above %llu",
              (unsigned long long)(table->slots * (uint64_t)table->ranks));
}

static int after_look(const struct table* table, struct search* search) {
  if (search->result == search->word->hash)
    search->step = COMPARE;
  else if (search->result != 0)
    return go_on(table, search);
  else
    search->step = is_long(search) && !search->reserved ? RESERVE : CLAIM;
  return 0;
}

static int after_reserve(const struct table* table, struct search* search) {
  search->heap_at = search->result;
  search->reserved = true;
  search->step = CLAIM;
  if (search->heap_at + heap_room(search) <= table->heap_bytes) return 0;
  return fail("no room for a word of %u letters: start anew with --fresh and a --heap above %llu", search->word->length,
              (unsigned long long)table->heap_bytes);
}

static void settle(struct search* search) {
  search->word->place = search->slot;
  search->step = SETTLED;
}

/* The letters are there: now the tag may say so. The flush of the next round, or of the counts, completes it. */
static int after_fill(const struct table* table, struct search* search) {
  TRY_MPI(MPI_Accumulate(&search->word->hash, 1, MPI_UINT64_T, table_owner(table, search->word->hash),
                         table_slot_at(table, LIVE, search->slot), 1, MPI_UINT64_T, MPI_REPLACE, table->window));
  settle(search);
  return 0;
}

/* Look at what the round has brought. */
static int advance(const struct batch* batch, struct search* search) {
  const struct table* table = batch->table;
  const struct word* word = search->word;
  const char* letters = batch->dictionary->letters + word->text;
  switch (search->step) {
    case LOOK:
      return after_look(table, search);
    case RESERVE:
      return after_reserve(table, search);
    case CLAIM:
      search->step = search->claims == 0 ? FILL : LOOK;
      return 0; /* not ours: wait for its tag */
    case FILL:
      return after_fill(table, search);
    case COMPARE:
      if (search->found.length != word->length) return go_on(table, search);
      if (is_long(search))
        search->step = COMPARE_HEAP;
      else if (memcmp(search->found.letters, letters, word->length) != 0)
        return go_on(table, search);
      else
        settle(search);
      return 0;
    case COMPARE_HEAP:
      if (memcmp(search->heap_letters, letters, word->length) != 0) return go_on(table, search);
      settle(search);
      return 0;
    case SETTLED:
      return 0;
  }
  return 0;
}

/* One operation for every word that has no place yet, all in flight together. A word that can't get a place doesn't end
 * the others' search: another rank may be waiting for a slot that one of them has claimed. */
static int run_round(struct batch* batch) {
  for (size_t i = 0; i < batch->count; i++)
    if (issue(batch, &batch->searches[i]) != 0) give_up();
  if (flush_ranks(batch->table->window, batch->table->ranks) != 0) give_up();
  int result = 0;
  size_t left = 0;
  for (size_t i = 0; i < batch->count; i++) {
    struct search* search = &batch->searches[i];
    bool failed = advance(batch, search) != 0;
    if (failed) result = -1;
    if (failed || search->step == SETTLED)
      free(search->heap_letters);
    else
      batch->searches[left++] = *search;
  }
  batch->count = left;
  return result;
}

/* Find or make the places of all counted words that have none. */
static int find_places(struct table* table, struct dictionary* dictionary) {
  struct batch batch = {.table = table, .dictionary = dictionary};
  batch.searches = must_realloc(NULL, dictionary->counted_count * sizeof *batch.searches);
  for (size_t i = 0; i < dictionary->counted_count; i++) {
    struct word* word = &dictionary->words[dictionary->counted[i]];
    if (word->place == PLACE_UNKNOWN)
      batch.searches[batch.count++] = (struct search){.word = word, .slot = table_home(table, word->hash)};
  }
  int result = 0;
  while (batch.count > 0)
    if (run_round(&batch) != 0) result = -1;
  free(batch.searches);
  return result;
}

static int add_to_state(struct table* table, const uint64_t* value, size_t offset) {
  TRY_MPI(MPI_Accumulate(value, 1, MPI_UINT64_T, 0, table_generation_at(table, LIVE) + (MPI_Aint)offset, 1,
                         MPI_UINT64_T, MPI_SUM, table->window));
  return 0;
}

int table_add(struct table* table, struct dictionary* dictionary, uint64_t words, uint64_t bytes) {
  int result = find_places(table, dictionary);
  if (result != 0) { /* others may wait for a tag that is still on its way */
    flush_ranks(table->window, table->ranks);
    return result;
  }
  for (size_t i = 0; i < dictionary->counted_count; i++) {
    const struct word* word = &dictionary->words[dictionary->counted[i]];
    MPI_Aint at = table_slot_at(table, LIVE, word->place) + (MPI_Aint)offsetof(struct slot, count);
    TRY_MPI(MPI_Accumulate(&word->count, 1, MPI_UINT64_T, table_owner(table, word->hash), at, 1, MPI_UINT64_T, MPI_SUM,
                           table->window));
    if (2 * i >= dictionary->counted_count && kill_is_due(KILL_TASK)) {
      flush_ranks(table->window, table->ranks);
      kill_in(KILL_TASK);
    }
  }
  if (add_to_state(table, &words, offsetof(struct state, words)) != 0) return -1;
  if (add_to_state(table, &bytes, offsetof(struct state, bytes)) != 0) return -1;
  if (flush_ranks(table->window, table->ranks) != 0) return -1;
  dictionary_clear_counts(dictionary);
  return 0;
}

/* A copy of a part of another rank's segment. */
static int fetch(struct table* table, int rank, MPI_Aint at, uint64_t bytes, void* to) {
  for (uint64_t done = 0; done < bytes; done += 1 << 20) {
    int part = (int)(bytes - done < 1 << 20 ? bytes - done : 1 << 20);
    TRY_MPI(MPI_Get((char*)to + done, part, MPI_BYTE, rank, at + (MPI_Aint)done, part, MPI_BYTE, table->window));
  }
  TRY_MPI(MPI_Win_flush(rank, table->window));
  return 0;
}

typedef int visitor(void* argument, const char* word, uint32_t length, uint64_t count);

static int visit_slots(const struct slot* slots, uint64_t count, const char* heap, visitor* visit, void* argument) {
  for (uint64_t i = 0; i < count; i++) {
    if (slots[i].tag == 0) continue;
    const char* letters = slots[i].letters;
    uint64_t at;
    memcpy(&at, letters, sizeof at);
    if (slots[i].length > INLINE_LETTERS) letters = heap + at;
    if (visit(argument, letters, slots[i].length, slots[i].count) != 0) return -1;
  }
  return 0;
}

static int visit_segment(struct table* table, int rank, struct slot* slots, uint64_t block, visitor* visit,
                         void* argument) {
  struct state state;
  if (fetch(table, rank, table_generation_at(table, COMMITTED), sizeof state, &state) != 0) return -1;
  char* heap = must_realloc(NULL, state.heap_used);
  int result = fetch(table, rank, table_heap_at(table, COMMITTED), state.heap_used, heap);
  for (uint64_t at = 0; result == 0 && at < table->slots; at += block) {
    uint64_t part = table->slots - at < block ? table->slots - at : block;
    result = fetch(table, rank, table_slot_at(table, COMMITTED, at), part * sizeof *slots, slots);
    if (result == 0) result = visit_slots(slots, part, heap, visit, argument);
  }
  free(heap);
  return result;
}

int table_visit(struct table* table, visitor* visit, void* argument) {
  const uint64_t block = 1 << 16;
  struct slot* slots = must_realloc(NULL, block * sizeof *slots);
  int result = 0;
  for (int rank = 0; rank < table->ranks && result == 0; rank++)
    result = visit_segment(table, rank, slots, block, visit, argument);
  free(slots);
  return result;
}
