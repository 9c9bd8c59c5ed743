/* Code of the program that the MPI library calls back, in the middle of other calls: what it does with windows counts
 * as it does elsewhere. The file of a staged window changes by syncs alone, so it shows whether one was done; a window
 * that begins inside a page shows whether puts arrive where they should.
 */
#include "files.h"

enum { bytes = 3000, cells = 200 };

static int rank, size, turn;
static MPI_Win staged, shifted;
static unsigned char* staged_bytes;
static int* shifted_cells;
static int called; /* callbacks so far */

static MPI_Win allocate(const char* hints, MPI_Aint length, int unit, void* base) {
  MPI_Info info = make_info(hints);
  MPI_Win win;
  MPI_Win_allocate(length, unit, info, MPI_COMM_WORLD, base, &win);
  MPI_Info_free(&info);
  return win;
}

/* Local: new bytes, a sync, and the file has them. */
static void sync_here(const char* where) {
  check_context = where;
  called++;
  memset(staged_bytes, ++turn, bytes);
  MPI_Win_lock_all(0, staged);
  CHECK_EQ(MPI_Win_sync(staged), MPI_SUCCESS);
  MPI_Win_unlock_all(staged);
  unsigned char there[bytes];
  if (!with_sill()) return;
  read_file(in_scratch("staged.%d", rank), 0, there, bytes);
  for (int i = 0; i < bytes; i++) CHECK_EQ(there[i], turn);
}

/* Local, in an epoch: a put to this rank. */
static void put_here(void) {
  const int value = 1000 + ++turn;
  CHECK_EQ(MPI_Put(&value, 1, MPI_INT, rank, turn, 1, MPI_INT, shifted), MPI_SUCCESS);
  MPI_Win_flush(rank, shifted);
  CHECK_EQ(shifted_cells[turn], value);
}

/* --- what is called back --- */

static void window_error(MPI_Win* win, int* code, ...) {
  CHECK_EQ(class_of(*code), MPI_ERR_RANK);
  if (*win == shifted) put_here();
  sync_here("a window's error handler");
}

static void comm_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  sync_here("a communicator's error handler");
}

static int window_deleted(MPI_Win win, int key, void* value, void* extra) {
  (void)win, (void)key, (void)extra;
  sync_here("the delete function of a window's attribute");
  /* MPI_Win_free in MPI_Win_free, of another window. */
  CHECK_EQ(MPI_Win_free((MPI_Win*)value), MPI_SUCCESS);
  if (with_sill()) CHECK_EQ(file_size(in_scratch("inner.%d", rank)), -1);
  return MPI_SUCCESS;
}

static int query(void* extra, MPI_Status* status) {
  (void)extra;
  sync_here("the query function of a request");
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}

static int release(void* extra) {
  (void)extra;
  sync_here("the free function of a request");
  return MPI_SUCCESS;
}

static int cancel(void* extra, int complete) {
  (void)extra, (void)complete;
  sync_here("the cancel function of a request");
  return MPI_SUCCESS;
}

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; i++) ((int*)inout)[i] += ((int*)in)[i];
  sync_here("a reduction operation");
}

static int world_ends(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  sync_here("a delete function in MPI_Finalize");
  MPI_Win_lock_all(0, shifted);
  put_here();
  MPI_Win_unlock_all(shifted);
  CHECK_EQ(MPI_Win_free(&shifted), MPI_SUCCESS);
  memset(staged_bytes, 250, bytes);
  CHECK_EQ(MPI_Win_free(&staged), MPI_SUCCESS);
  return MPI_SUCCESS;
}

/* --- what calls them --- */

static void errors(void) {
  int* plain_base = NULL;
  MPI_Win plain;
  MPI_Errhandler handler;
  MPI_Win_create_errhandler(window_error, &handler);
  MPI_Win_allocate(4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &plain_base, &plain);
  MPI_Win_set_errhandler(plain, handler);
  MPI_Win_set_errhandler(shifted, handler);
  MPI_Errhandler_free(&handler);
  /* MPICH 5 returns MPI_SUCCESS when a handler of the program's has been called. */
  MPI_Win_lock(MPI_LOCK_SHARED, size + 7, 0, plain);
  CHECK_EQ(called, 1);
  MPI_Win_lock_all(0, shifted);
  const int value = 1;
  MPI_Put(&value, 1, MPI_INT, size + 7, 0, 1, MPI_INT, shifted);
  MPI_Win_unlock_all(shifted);
  CHECK_EQ(called, 2);
  MPI_Win_free(&plain);

  MPI_Comm comm, parts;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(comm_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  MPI_Comm_split_type(comm, -77, 0, MPI_INFO_NULL, &parts);
  CHECK_EQ(called, 3);
  MPI_Comm_free(&comm);
}

static void attributes(void) {
  void* base = NULL;
  MPI_Win inner =
      allocate("alloc_type=storage storage_alloc_unlink=true storage_alloc_filename=@/inner.%r", 4, 4, &base);
  MPI_Win outer =
      allocate("alloc_type=storage storage_alloc_unlink=true storage_alloc_filename=@/outer.%r", 4, 4, &base);
  int key;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, window_deleted, &key, NULL);
  MPI_Win_set_attr(outer, key, &inner);
  MPI_Win_free_keyval(&key);
  CHECK_EQ(MPI_Win_free(&outer), MPI_SUCCESS);
  CHECK_EQ(called, 4);
  if (with_sill()) CHECK_EQ(file_size(in_scratch("outer.%d", rank)), -1);
}

static void requests(void) {
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  MPI_Cancel(&request);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQ(called, 7);
}

static void operations(void) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
  CHECK_EQ(sum, size * (size - 1) / 2);
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  staged = allocate("alloc_type=storage storage_alloc_engine=staged storage_alloc_filename=@/staged.%r", bytes, 1,
                    &staged_bytes);
  shifted = allocate(
      "alloc_type=storage storage_alloc_unlink=true storage_alloc_offset=1236 storage_alloc_filename=@/shifted.%r",
      cells * sizeof(int), sizeof(int), &shifted_cells);
  errors();
  attributes();
  requests();
  operations();
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, world_ends, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  const int before = called;
  MPI_Finalize();

  unsigned char last = 0;
  FILE* file = fopen(in_scratch("staged.%d", rank), "rb");
  const int durable = file && fread(&last, 1, 1, file) == 1 && last == 250;
  if (file) fclose(file);
  const int gone = file_size(in_scratch("shifted.%d", rank)) == -1;
  if (called != before + 1 || (with_sill() && !(durable && gone))) {
    fprintf(stderr, "rank %d: the end of MPI: called %d, freed windows synced %d, unlinked %d\n", rank, called - before,
            durable, gone);
    return 1;
  }
  return 0;
}
