/* A storage window is a window like any other: attributes, name, info, group, error handler, the user's own keyvals. */
#include "windows.h"

static int rank, size;
static int deleted, handled;
static MPI_Win handled_win;

static int count_deletion(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win;
  (void)keyval;
  CHECK(extra == &deleted);
  CHECK_EQ(*(int*)value, 4711);
  deleted++;
  return MPI_SUCCESS;
}

static void note_error(MPI_Win* win, int* code, ...) {
  (void)code;
  handled++;
  handled_win = *win;
}

static void* attribute(MPI_Win win, int key) {
  void* value = NULL;
  int found = 0;
  MPI_Win_get_attr(win, key, &value, &found);
  CHECK_SAY(found, "attribute %d is unset", key);
  return value;
}

static void predefined(MPI_Win win, const window_kind* kind, const void* base, MPI_Aint bytes, int disp_unit) {
  const int flavors[] = {MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_CREATE};
  CHECK(attribute(win, MPI_WIN_BASE) == base);
  CHECK_EQ(*(MPI_Aint*)attribute(win, MPI_WIN_SIZE), bytes);
  CHECK_EQ(*(int*)attribute(win, MPI_WIN_DISP_UNIT), disp_unit);
  CHECK_EQ(*(int*)attribute(win, MPI_WIN_CREATE_FLAVOR), flavors[kind->call]);
  CHECK_EQ(*(int*)attribute(win, MPI_WIN_MODEL), MPI_WIN_UNIFIED);
}

static void names(MPI_Win win) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Win_get_name(win, name, &length);
  MPI_Win_set_name(win, "the ledge");
  MPI_Win_get_name(win, name, &length);
  CHECK(length == 9 && strcmp(name, "the ledge") == 0);
}

static void groups(MPI_Win win) {
  MPI_Group of_win, of_world;
  int result = MPI_UNEQUAL;
  MPI_Win_get_group(win, &of_win);
  MPI_Comm_group(MPI_COMM_WORLD, &of_world);
  MPI_Group_compare(of_win, of_world, &result);
  CHECK_EQ(result, MPI_IDENT);
  MPI_Group_free(&of_win);
  MPI_Group_free(&of_world);
}

static void handlers(MPI_Win win) {
  MPI_Errhandler before, mine, now;
  MPI_Win_get_errhandler(win, &before);
  CHECK(before == MPI_ERRORS_ARE_FATAL);
  MPI_Win_create_errhandler(note_error, &mine);
  MPI_Win_set_errhandler(win, mine);
  MPI_Win_get_errhandler(win, &now);
  CHECK(now == mine);
  handled = 0;
  MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
  CHECK_EQ(handled, 1);
  CHECK(handled_win == win);

  MPI_Errhandler_free(&before);
  MPI_Errhandler_free(&now);
  MPI_Errhandler_free(&mine);
}

static void infos(MPI_Win win, const window_kind* kind) {
  MPI_Info used;
  MPI_Win_get_info(win, &used);
  char value[MPI_MAX_INFO_VAL + 1];
  int found = 0;
  MPI_Info_get(used, "alloc_type", MPI_MAX_INFO_VAL, value, &found);
  if (with_sill() && strstr(kind->hints, "alloc_type=storage") && kind->call != BY_CREATE) {
    CHECK(found && strcmp(value, "storage") == 0);
    MPI_Info_get(used, "storage_alloc_filename", MPI_MAX_INFO_VAL, value, &found);
    CHECK(found && strncmp(value, scratch(), strlen(scratch())) == 0);
  }
  MPI_Info_free(&used);
  MPI_Info hint = make_info("accumulate_ordering=none unknown_to_all=1");
  CHECK_EQ(MPI_Win_set_info(win, hint), MPI_SUCCESS);
  MPI_Info_free(&hint);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  for (int kind = 0; kind < window_kind_count; kind++) {
    if (!kind_tried(kind, MPI_COMM_WORLD)) continue;
    void* base = NULL;
    const MPI_Aint bytes = (wants_round_sizes(&window_kinds[kind]) ? 1008 : 1000) + 16 * rank;
    const int disp_unit = 1 + rank;
    MPI_Win win = open_window(&window_kinds[kind], bytes, disp_unit, MPI_COMM_WORLD, &base);
    int keyval = MPI_KEYVAL_INVALID, value = 4711;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &keyval, &deleted);
    MPI_Win_set_attr(win, keyval, &value);
    CHECK(attribute(win, keyval) == &value);

    predefined(win, &window_kinds[kind], base, bytes, disp_unit);
    names(win);
    groups(win);
    handlers(win);
    infos(win, &window_kinds[kind]);
    predefined(win, &window_kinds[kind], base, bytes, disp_unit);

    deleted = 0;
    close_window(&window_kinds[kind], &win);
    CHECK_EQ(deleted, 1);
    CHECK(win == MPI_WIN_NULL);
    MPI_Win_free_keyval(&keyval);
  }
  MPI_Finalize();
  return 0;
}
