/* Derived datatypes on both sides of put, get, accumulate and get_accumulate: each pair of nine layouts of 24 ints. */
#include "windows.h"

enum { elements = 24, room = 160, kinds = 9 }; /* room: ints that the widest layout spans */

typedef struct {
  const char* name;
  MPI_Datatype type;
  int count;           /* of `type`, for 24 ints */
  int where[elements]; /* position of each int, in ints */
} layout;

static layout layouts[kinds];

static void add(int index, const char* name, MPI_Datatype type, int count, const int* where) {
  MPI_Type_commit(&type);
  layouts[index] = (layout){.name = name, .type = type, .count = count};
  memcpy(layouts[index].where, where, sizeof layouts[index].where);
}

static void make_layouts(void) {
  int where[elements];
  MPI_Datatype type, inner;

  for (int i = 0; i < elements; i++) where[i] = i;
  MPI_Type_dup(MPI_INT, &type);
  add(0, "plain", type, elements, where);
  MPI_Type_contiguous(6, MPI_INT, &inner);
  MPI_Type_contiguous(2, inner, &type);
  MPI_Type_free(&inner);
  add(1, "contiguous of contiguous", type, 2, where);

  for (int i = 0; i < elements; i++) where[i] = i / 3 * 5 + i % 3;
  MPI_Type_vector(8, 3, 5, MPI_INT, &type);
  add(2, "vector", type, 1, where);

  for (int i = 0; i < elements; i++) where[i] = i / 4 * 12 + i % 4;
  MPI_Type_create_hvector(6, 4, 12 * sizeof(int), MPI_INT, &type);
  add(3, "hvector", type, 1, where);

  const int lengths[] = {1, 5, 0, 10, 8}, displacements[] = {90, 3, 17, 20, 50};
  for (int block = 0, i = 0; block < 5; block++) {
    for (int k = 0; k < lengths[block]; k++) where[i++] = displacements[block] + k;
  }
  MPI_Type_indexed(5, lengths, displacements, MPI_INT, &type);
  add(4, "indexed", type, 1, where);

  const int blocks[] = {100, 60, 4, 33};
  for (int i = 0; i < elements; i++) where[i] = blocks[i / 6] + i % 6;
  MPI_Type_create_indexed_block(4, 6, blocks, MPI_INT, &type);
  add(5, "indexed block", type, 1, where);

  /* Rows 1..4, columns 2..7 of a matrix of 8 x 12. */
  const int whole[] = {8, 12}, part[] = {4, 6}, start[] = {1, 2};
  for (int i = 0; i < elements; i++) where[i] = (1 + i / 6) * 12 + 2 + i % 6;
  MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_C, MPI_INT, &type);
  add(6, "subarray", type, 1, where);

  /* Two of a struct {int a[3]; gap of 2; int b[9];}, resized to 20 ints. */
  const int struct_lengths[] = {3, 9};
  const MPI_Aint struct_places[] = {0, 5 * sizeof(int)};
  const MPI_Datatype struct_types[] = {MPI_INT, MPI_INT};
  for (int i = 0; i < elements; i++) where[i] = i / 12 * 20 + (i % 12 < 3 ? i % 12 : i % 12 + 2);
  MPI_Type_create_struct(2, struct_lengths, struct_places, struct_types, &inner);
  MPI_Type_create_resized(inner, 0, 20 * sizeof(int), &type);
  MPI_Type_free(&inner);
  add(7, "resized struct", type, 2, where);

  /* Three of a vector of vectors. */
  MPI_Datatype pair, stretched;
  MPI_Type_vector(2, 2, 3, MPI_INT, &pair);                     /* 0 1 . 3 4 */
  MPI_Type_create_hvector(2, 1, 8 * sizeof(int), pair, &inner); /* at 0 and 8 */
  MPI_Type_create_resized(inner, 0, 30 * sizeof(int), &stretched);
  for (int i = 0; i < elements; i++) where[i] = i / 8 * 30 + i % 8 / 4 * 8 + i % 4 / 2 * 3 + i % 2;
  add(8, "vector of vectors", stretched, 3, where);
  MPI_Type_free(&pair);
  MPI_Type_free(&inner);
}

/* Each pair of layouts has a section of the window of its own, so that one epoch holds all pairs. */
enum { pairs = kinds * kinds };

static int rank, size;

/* Whom a pair's operation goes to; now and then the rank itself. */
static int shift_of(int pair) { return pair % size; }

static void store(MPI_Win win, int* mine, int first) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < pairs * room; i++) mine[i] = first + i % room;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* `actual` is `first + i`, but where the layout says so it is the k-th of `expected`. */
static void check_scattered(const int* actual, int first, const layout* to, const int* expected) {
  int wanted[room];
  for (int i = 0; i < room; i++) wanted[i] = first + i;
  for (int k = 0; k < elements; k++) wanted[to->where[k]] = expected[k];
  for (int i = 0; i < room; i++) {
    CHECK_SAY(actual[i] == wanted[i], "int %d of %s is %d, not %d", i, to->name, actual[i], wanted[i]);
  }
}

/* Origin layout here, remote layout there: MPI_Put, or MPI_Accumulate if `sum`. */
static void outwards(MPI_Win win, int* mine, int sum) {
  int buffer[room], expected[elements];
  store(win, mine, 5000);
  for (int i = 0; i < room; i++) buffer[i] = 1000 * (rank + 1) + i;
  MPI_Win_fence(0, win);
  for (int pair = 0; pair < pairs; pair++) {
    const layout *from = &layouts[pair / kinds], *to = &layouts[pair % kinds];
    const int target = (rank + shift_of(pair)) % size;
    if (!sum) MPI_Put(buffer, from->count, from->type, target, pair * room, to->count, to->type, win);
    if (sum) MPI_Accumulate(buffer, from->count, from->type, target, pair * room, to->count, to->type, MPI_SUM, win);
  }
  MPI_Win_fence(0, win);
  for (int pair = 0; pair < pairs; pair++) {
    const layout *from = &layouts[pair / kinds], *to = &layouts[pair % kinds];
    const int origin = (rank + size - shift_of(pair)) % size;
    for (int k = 0; k < elements; k++) {
      expected[k] = 1000 * (origin + 1) + from->where[k] + (sum ? 5000 + to->where[k] : 0);
    }
    check_scattered(mine + pair * room, 5000, to, expected);
  }
  MPI_Win_fence(0, win);
}

/* Remote layout there into origin layout here: MPI_Get, or MPI_Get_accumulate that adds 3 if `sum`. */
static void inwards(MPI_Win win, int* mine, int sum) {
  static int results[pairs * room];
  int threes[elements], expected[elements];
  store(win, mine, 7000 * (rank + 1));
  for (int i = 0; i < pairs * room; i++) results[i] = -5000 + i % room;
  for (int i = 0; i < elements; i++) threes[i] = 3;
  MPI_Win_lock_all(0, win);
  for (int pair = 0; pair < pairs; pair++) {
    const layout *into = &layouts[pair / kinds], *there = &layouts[pair % kinds];
    const int target = (rank + shift_of(pair)) % size;
    int* result = results + pair * room;
    if (!sum) MPI_Get(result, into->count, into->type, target, pair * room, there->count, there->type, win);
    if (sum) {
      MPI_Get_accumulate(threes, elements, MPI_INT, result, into->count, into->type, target, pair * room, there->count,
                         there->type, MPI_SUM, win);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int pair = 0; pair < pairs; pair++) {
    const layout *into = &layouts[pair / kinds], *there = &layouts[pair % kinds];
    const int target = (rank + shift_of(pair)) % size;
    for (int k = 0; k < elements; k++) expected[k] = 7000 * (target + 1) + there->where[k];
    check_scattered(results + pair * room, -5000, into, expected);
    for (int k = 0; k < elements; k++) expected[k] = 7000 * (rank + 1) + there->where[k] + (sum ? 3 : 0);
    check_scattered(mine + pair * room, 7000 * (rank + 1), there, expected);
  }
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Pairs of value and place, the one predefined type with two members that accumulates. */
static void max_place(MPI_Win win, void* base) {
  struct {
    int value, place;
  }* mine = base, offer = {100 - rank, rank};
  MPI_Win_fence(0, win);
  mine->value = 0;
  mine->place = -1;
  MPI_Win_fence(0, win);
  for (int target = 0; target < size; target++)
    MPI_Accumulate(&offer, 1, MPI_2INT, target, 0, 1, MPI_2INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  CHECK_EQ(mine->value, 100);
  CHECK_EQ(mine->place, 0);
  MPI_Win_fence(0, win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  make_layouts();
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD) || types_are_broken(&window_kinds[kind])) continue;
    int* mine = NULL;
    MPI_Win win = open_window(&window_kinds[kind], pairs * room * sizeof(int), sizeof(int), MPI_COMM_WORLD, &mine);
    for (int sum = 0; sum < 2; sum++) {
      outwards(win, mine, sum);
      inwards(win, mine, sum);
    }
    max_place(win, mine);
    close_window(&window_kinds[kind], &win);
  }
  for (int i = 0; i < kinds; i++) MPI_Type_free(&layouts[i].type);
  MPI_Finalize();
  return 0;
}
