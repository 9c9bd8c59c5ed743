#include "methods.h"

#include <stdlib.h>

static MPI_Comm node = MPI_COMM_NULL;
static MPI_Aint* addresses;

void methods_begin(void) {
  APP_TRY(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  APP_TRY(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
  addresses = app_allocate((size_t)app_ranks() * sizeof *addresses);
}

void methods_end(void) {
  APP_TRY(MPI_Comm_free(&node));
  free(addresses);
}

/* --- MPI_Win_allocate --- */

static void allocate(struct memory* memory, uint64_t bytes) {
  MPI_Info info = app_window_info("winalloc");
  APP_TRY(MPI_Win_allocate((MPI_Aint)bytes, 1, info, MPI_COMM_WORLD, &memory->base, &memory->win));
  APP_TRY(MPI_Info_free(&info));
}

static void free_window(struct memory* memory) { APP_TRY(MPI_Win_free(&memory->win)); }

/* --- MPI_Win_create over memory of MPI_Alloc_mem, which takes the hints --- */

static void alloc_mem(struct memory* memory, uint64_t bytes) {
  MPI_Info info = app_window_info("winalloc");
  APP_TRY(MPI_Alloc_mem((MPI_Aint)bytes, info, &memory->base));
  APP_TRY(MPI_Info_free(&info));
}

static void create(struct memory* memory, uint64_t bytes) {
  alloc_mem(memory, bytes);
  APP_TRY(MPI_Win_create(memory->base, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory->win));
}

static void free_created(struct memory* memory) {
  APP_TRY(MPI_Win_free(&memory->win));
  APP_TRY(MPI_Free_mem(memory->base));
}

/* --- dynamic windows: memory is global once all ranks know its address --- */

static void attach(struct memory* memory, uint64_t bytes) {
  MPI_Aint address = 0;
  APP_TRY(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &memory->win));
  APP_TRY(MPI_Win_attach(memory->win, memory->base, (MPI_Aint)bytes));
  APP_TRY(MPI_Get_address(memory->base, &address));
  APP_TRY(MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD));
  memory->begin = addresses;
}

static void detach(struct memory* memory) {
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* nobody accesses it any more */
  APP_TRY(MPI_Win_detach(memory->win, memory->base));
  APP_TRY(MPI_Win_free(&memory->win));
}

static void attach_alloc_mem(struct memory* memory, uint64_t bytes) {
  alloc_mem(memory, bytes);
  attach(memory, bytes);
}

static void free_alloc_mem(struct memory* memory) {
  detach(memory);
  APP_TRY(MPI_Free_mem(memory->base));
}

/* The node's ranks reach each other's memory by loads and stores, all ranks by the dynamic window. */
static void attach_shared(struct memory* memory, uint64_t bytes) {
  MPI_Info info = app_window_info("winalloc");
  APP_TRY(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
  APP_TRY(MPI_Win_allocate_shared((MPI_Aint)bytes, 1, info, node, &memory->base, &memory->shared));
  APP_TRY(MPI_Info_free(&info));
  attach(memory, bytes);
}

static void free_shared(struct memory* memory) {
  detach(memory);
  APP_TRY(MPI_Win_free(&memory->shared));
}

const struct method methods[] = {
    {"allocate", "MPI_Win_allocate", allocate, free_window},
    {"create", "MPI_Alloc_mem, MPI_Win_create", create, free_created},
    {"attach", "MPI_Alloc_mem, MPI_Win_create_dynamic, MPI_Win_attach", attach_alloc_mem, free_alloc_mem},
    {"shared", "MPI_Win_allocate_shared, MPI_Win_create_dynamic, MPI_Win_attach", attach_shared, free_shared},
};
const size_t method_count = sizeof methods / sizeof methods[0];
