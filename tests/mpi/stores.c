/* What sill.h tells of stores: those under a path, and those that ranks share. Links Sill. */
#include <sill/sill.h>
#include <sys/statvfs.h>

#include "files.h"

static int rank, size;

/* Against the system's own answers. */
static void queried(void) {
  check_context = "query";
  sill_store_info info;
  memset(&info, 0xFF, sizeof info);
  info.size = sizeof info;
  CHECK_EQ(sill_store_query(scratch(), &info), MPI_SUCCESS);
  struct statvfs space;
  CHECK_EQ(statvfs(scratch(), &space), 0);
  CHECK_EQ(info.capacity_bytes, (uint64_t)space.f_blocks * space.f_frsize);
  CHECK_EQ(info.block_bytes, space.f_frsize);
  CHECK(info.available_bytes <= info.capacity_bytes);
  CHECK_EQ(info.read_only, SILL_NO);
  CHECK_SAY(strlen(info.file_system) > 0 && strlen(info.identity) > 0, "'%s' '%s'", info.file_system, info.identity);
  CHECK_SAY(strncmp(scratch(), info.mount_point, strlen(info.mount_point)) == 0, "'%s'", info.mount_point);
  for (const int* answer = &info.shared; answer <= &info.direct_io; ++answer)
    CHECK(*answer == SILL_CANT_TELL || *answer == SILL_NO || *answer == SILL_YES);

  sill_store_info processes = {.size = sizeof processes};
  CHECK_EQ(sill_store_query("/proc/self/status", &processes), MPI_SUCCESS);
  CHECK(strcmp(processes.file_system, "proc") == 0);
  CHECK_EQ(processes.served, SILL_NO);
  CHECK(strcmp(processes.identity, info.identity) != 0);
}

/* Error codes are classes where there is no MPI, and their text is there all the same. */
static void query_errors(int with_mpi) {
  check_context = with_mpi ? "query errors" : "query errors without MPI";
  sill_store_info info = {.size = sizeof info};
  const int code = sill_store_query("/no/such/place", &info);
  CHECK_EQ(with_mpi ? class_of(code) : code, MPI_ERR_NO_SUCH_FILE);
  CHECK_SAY(strstr(sill_error_string(), "/no/such/place") != NULL, "%s", sill_error_string());
  CHECK(sill_store_query(NULL, &info) != MPI_SUCCESS);
  CHECK(sill_store_query("/", NULL) != MPI_SUCCESS);
  info.size = 0;
  const int unset = sill_store_query("/", &info);
  CHECK_EQ(with_mpi ? class_of(unset) : unset, MPI_ERR_ARG);
  CHECK_SAY(strstr(sill_error_string(), "sizeof(sill_store_info)") != NULL, "%s", sill_error_string());
}

static void check_empty(const sill_store_list* list) {
  CHECK_EQ(list->store_count, 0);
  CHECK_EQ(list->directory_count, 0);
  CHECK_EQ(list->rank_count, 0);
  CHECK_EQ(list->node_count, 0);
}

enum { MOST = 64 };

/* The number of each rank's node, in the order of their first ranks; returns how many there are. */
static int find_nodes(MPI_Comm comm, int* node_of) {
  const int members = size_of(comm);
  int first = rank_in(comm), firsts[MOST], before[MOST], count = 0;
  MPI_Comm node;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, first, MPI_INFO_NULL, &node);
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  CHECK(members <= MOST);
  MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, comm);
  for (int i = 0; i < members; i++) {
    before[i] = count;
    count += firsts[i] == i;
    node_of[i] = before[firsts[i]];
  }
  return count;
}

/* One directory for all, one for each rank, one that the last rank alone has. */
static void shared(MPI_Comm comm, int root) {
  check_context = "stores";
  const int me = rank_in(comm), members = size_of(comm);
  int node_of[MOST];
  const int nodes = find_nodes(comm, node_of);
  const char* const own = in_scratch("own.%d", rank);
  const char* const last = in_scratch("last", 0);
  CHECK_EQ(mkdir(own, 0700), 0);
  if (me == members - 1) CHECK_EQ(mkdir(last, 0700), 0);
  MPI_Barrier(comm);
  const char* const directories[] = {scratch(), own, me == members - 1 ? last : NULL};
  sill_store_list* list = NULL;
  CHECK_EQ(sill_stores(comm, root, 3, directories, MPI_INFO_NULL, &list), MPI_SUCCESS);
  CHECK_EQ(list->size, sizeof *list);
  if (me != root) check_empty(list);
  if (me == root) {
    CHECK_EQ(list->directory_count, 3);
    CHECK_EQ(list->rank_count, members);
    CHECK_EQ(list->store_count, 1 + members + 1);
    CHECK_EQ(list->node_count, nodes);
    CHECK(strlen(list->node_names[0]) > 0);
    const sill_store* const all = list->stores[0];
    CHECK_EQ(all->size, sizeof *all);
    CHECK_EQ(all->info->size, sizeof *all->info);
    CHECK_EQ(all->directory, 0);
    CHECK_EQ(all->rank_count, members);
    CHECK(strcmp(all->path, scratch()) == 0);
    for (int i = 0; i < members; i++) {
      CHECK_EQ(all->ranks[i], i);
      CHECK_EQ(list->node_of[i], node_of[i]);
      const sill_store* const single = list->stores[1 + i];
      CHECK_EQ(single->directory, 1);
      CHECK_EQ(single->rank_count, 1);
      CHECK_EQ(single->ranks[0], i);
      CHECK(strcmp(single->info->identity, all->info->identity) == 0);
      CHECK(strncmp(single->path, scratch(), strlen(scratch())) == 0);
    }
    const sill_store* const lone = list->stores[1 + members];
    CHECK_EQ(lone->directory, 2);
    CHECK_EQ(lone->rank_count, 1);
    CHECK_EQ(lone->ranks[0], members - 1);
    CHECK_EQ(list->splits[1]->store_count, members);
    for (int i = 0; i < 3; i++) {
      CHECK_EQ(list->splits[i]->size, sizeof *list->splits[i]);
      CHECK_EQ(list->splits[i]->method, SILL_SPLIT_AUTO);
      CHECK_EQ(list->splits[i]->creates, list->splits[i]->removes);
      CHECK(list->splits[i]->creates <= (uint64_t)list->splits[i]->store_count);
      CHECK(list->splits[i]->time_ns > 0);
    }
  }
  CHECK_EQ(sill_stores_free(&list), MPI_SUCCESS);
  CHECK(list == NULL);
  MPI_Barrier(comm);
  CHECK_EQ(rmdir(own), 0);
  if (me == members - 1) CHECK_EQ(rmdir(last), 0);
}

static void method(void) {
  check_context = "method";
  const char* const directories[] = {scratch()};
  sill_store_list* list = NULL;
  MPI_Info info = make_info("nbhd_method=exhaustive");
  CHECK_EQ(sill_stores(MPI_COMM_WORLD, 0, 1, directories, info, &list), MPI_SUCCESS);
  if (rank == 0) {
    CHECK_EQ(list->splits[0]->method, SILL_SPLIT_EXHAUSTIVE);
    CHECK(list->splits[0]->creates >= (uint64_t)size);
    CHECK_EQ(list->store_count, 1);
  }
  sill_stores_free(&list);
  MPI_Info_set(info, "nbhd_method", "guess");
  CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, 0, 1, directories, info, &list)), MPI_ERR_INFO_VALUE);
  CHECK(list == NULL);
  MPI_Info_free(&info);
}

/* Every rank is told, also where one alone is wrong. */
static void errors(void) {
  check_context = "errors";
  const char* const directories[] = {scratch(), scratch()};
  sill_store_list* list = NULL;
  CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, size, 1, directories, MPI_INFO_NULL, &list)), MPI_ERR_ARG);
  CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, rank == 0 ? 0 : -1, 1, directories, MPI_INFO_NULL, &list)),
           size > 1 ? MPI_ERR_ARG : MPI_SUCCESS);
  if (size == 1) sill_stores_free(&list);
  if (size > 1)
    CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, rank == 0 ? 0 : 1, 1, directories, MPI_INFO_NULL, &list)),
             MPI_ERR_ARG);
  CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, 0, rank == 0 ? -1 : 1, directories, MPI_INFO_NULL, &list)),
           MPI_ERR_ARG);
  CHECK_EQ(class_of(sill_stores(MPI_COMM_NULL, 0, 1, directories, MPI_INFO_NULL, &list)), MPI_ERR_ARG);
  const char* const faulty[] = {rank == size - 1 ? "/tmp/%x" : scratch()};
  CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, 0, 1, faulty, MPI_INFO_NULL, &list)), MPI_ERR_INFO_VALUE);
  CHECK_SAY(strstr(sill_error_string(), "%x") != NULL, "%s", sill_error_string());
  if (size > 1)
    CHECK_EQ(class_of(sill_stores(MPI_COMM_WORLD, 0, rank == 0 ? 1 : 2, directories, MPI_INFO_NULL, &list)),
             MPI_ERR_ARG);
  CHECK(list == NULL);
  CHECK(sill_stores_free(NULL) != MPI_SUCCESS);
  CHECK_EQ(sill_stores(MPI_COMM_WORLD, 0, 0, NULL, MPI_INFO_NULL, &list), MPI_SUCCESS);
  CHECK_EQ(list->store_count, 0);
  if (rank == 0) CHECK_EQ(list->rank_count, size);
  sill_stores_free(&list);
}

int main(int argc, char** argv) {
  query_errors(0);
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  size = size_of(MPI_COMM_WORLD);
  queried();
  query_errors(1);
  shared(MPI_COMM_WORLD, size - 1);
  MPI_Comm turned;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
  shared(turned, 0);
  MPI_Comm_free(&turned);
  method();
  errors();
  MPI_Barrier(MPI_COMM_WORLD);
  check_context = "leftovers";
  CHECK_EQ(entries_in(scratch()), 0);
  MPI_Finalize();
  query_errors(0);
  return 0;
}
