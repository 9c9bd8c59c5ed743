/* MPI_Comm_split_type by directory on one machine: names, keys, who takes part, what is refused, what goes on. */
#include <sys/stat.h>
#include <unistd.h>

#include "splits.h"

static int rank, ranks;
static char shared[512], other[512], link_to_shared[512], missing[512];

static void make_folders(void) {
  snprintf(shared, sizeof shared, "%s/shared", scratch());
  snprintf(other, sizeof other, "%s/other", scratch());
  snprintf(link_to_shared, sizeof link_to_shared, "%s/link", scratch());
  snprintf(missing, sizeof missing, "%s/missing", scratch());
  if (rank == 0) {
    CHECK_EQ(mkdir(shared, 0700), 0);
    CHECK_EQ(mkdir(other, 0700), 0);
    CHECK_EQ(symlink("shared", link_to_shared), 0);
  }
  char own[512], host[256];
  snprintf(own, sizeof own, "%s/r%d", scratch(), rank);
  CHECK_EQ(mkdir(own, 0700), 0);
  CHECK_EQ(gethostname(host, sizeof host), 0);
  snprintf(own, sizeof own, "%s/h%s", scratch(), host);
  mkdir(own, 0700);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void check_names(void) {
  check_context = "names";
  const int odd = rank % 2;
  char pattern[512];
  split_must_give(shared, NONE, 0);
  split_must_give(odd ? link_to_shared : shared, NONE, 0);
  split_must_give(odd ? other : shared, NONE, odd);
  split_must_give(odd ? missing : shared, NONE, odd ? -1 : 0);
  split_must_give(missing, NONE, -1);
  snprintf(pattern, sizeof pattern, "%s/r%%r", scratch());
  split_must_give(pattern, NONE, rank);
  snprintf(pattern, sizeof pattern, "%s/h%%h", scratch());
  split_must_give(pattern, NONE, 0);
}

/* One kernel's word is enough: no method but those that want to makes a file. */
static void check_methods(void) {
  check_context = "methods";
  const int odd = rank % 2;
  static const char* const methods[] = {"auto", "exhaustive", "heuristic", "fingerprint"};
  for (int method = SILL_SPLIT_AUTO; method <= SILL_SPLIT_FINGERPRINT; method++) {
    const sill_split_stats stats = split_must_give(shared, methods[method], 0);
    CHECK_EQ(stats.method, method);
    CHECK_EQ(stats.store, 0);
    CHECK_EQ(stats.store_count, 1);
    CHECK_EQ(stats.unproven, 0);
    CHECK(stats.time_ns > 0);
    CHECK_EQ(stats.creates, method == SILL_SPLIT_EXHAUSTIVE ? ranks + 1 : method == SILL_SPLIT_HEURISTIC);
    CHECK_EQ(stats.removes, stats.creates);
    CHECK_EQ(stats.looks, method == SILL_SPLIT_EXHAUSTIVE ? ranks : 0);
    CHECK_EQ(traces_in(shared), 0);
  }
  const sill_split_stats stats = split_must_give(odd ? other : shared, "exhaustive", odd);
  CHECK_EQ(stats.store, odd);
  CHECK_EQ(stats.store_count, ranks > 1 ? 2 : 1);
  CHECK_EQ(traces_in(shared) + traces_in(other), 0);
}

static void check_order(void) {
  check_context = "order";
  MPI_Comm comm;
  MPI_Info info = split_info(shared, NONE);
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, -rank, info, &comm), MPI_SUCCESS);
  CHECK_EQ(rank_in(comm), ranks - 1 - rank);
  MPI_Comm_free(&comm);
  const int left_out = ranks - 1;
  const int type = rank == left_out ? MPI_UNDEFINED : MPIX_COMM_TYPE_NEIGHBORHOOD;
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, rank == left_out ? MPI_INFO_NULL : info, &comm), MPI_SUCCESS);
  expect_group(comm, rank == left_out ? -1 : 0);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Info_free(&info);
}

static void check_missing_keys(void) {
  check_context = "missing keys";
  MPI_Comm comm = MPI_COMM_SELF;
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, MPI_INFO_NULL, &comm), MPI_SUCCESS);
  CHECK(comm == MPI_COMM_NULL);
  split_must_give(NONE, NONE, -1);
  split_must_give(rank == 0 ? NONE : shared, NONE, rank == 0 ? -1 : 0);
  const int last = rank == ranks - 1;
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, make_info("mpix_tooth_fairy=enable"), MPI_ERR_INFO_KEY, "tooth_fairy");
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, last ? make_info("fairy=1") : split_info(shared, NONE), MPI_ERR_INFO_KEY,
                  "fairy");
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, make_info("nbhd_method=auto"), MPI_ERR_INFO_NOKEY,
                  "nbhd_common_dirname is missing");
  CHECK_EQ(traces_in(shared), 0);
}

static void check_bad_values(void) {
  check_context = "bad values";
  const int last = rank == ranks - 1;
  const int type = MPIX_COMM_TYPE_NEIGHBORHOOD;
  split_must_fail(type, split_info(shared, last ? "Auto" : "auto"), MPI_ERR_INFO_VALUE, "nbhd_method=Auto: expected");
  split_must_fail(type, split_info(last ? "/a/%w" : shared, NONE), MPI_ERR_INFO_VALUE, "nbhd_common_dirname=/a/%w");
  if (ranks > 1)
    split_must_fail(type, split_info(shared, last ? "heuristic" : "auto"), MPI_ERR_INFO_VALUE, "nbhd_method differs");
  CHECK_EQ(traces_in(shared), 0);
}

/* The standard's own way, in the numbers of the MPI that this was built with. */
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
static void check_guided(void) {}
#else
static void check_guided(void) {
  check_context = "guided";
  char resource[600];
  MPI_Comm comm;
  MPI_Info info;
  snprintf(resource, sizeof resource, "storage:%s", shared);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_hw_resource_type", resource);
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm), MPI_SUCCESS);
  expect_group(comm, 0);
  MPI_Comm_free(&comm);
  MPI_Info_set(info, "nbhd_method", "exhaustive");
  MPI_Info guided = rank == 0 ? MPI_INFO_NULL : info;
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, guided, &comm), MPI_SUCCESS);
  expect_group(comm, rank == 0 ? -1 : 0);
  CHECK_EQ(spent_by_all().creates, ranks > 1 ? ranks : 0);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Info_free(&info);
  split_must_fail(MPI_COMM_TYPE_HW_GUIDED, make_info("mpi_hw_resource_type=storage:"), MPI_ERR_INFO_VALUE, "empty");
#if defined(MPICH) || defined(MPI_ABI_VERSION)
  info = make_info("mpi_hw_resource_type=mpi_shared_memory");
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm), MPI_SUCCESS);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  MPI_Info_free(&info);
#endif
}
#endif

/* What isn't for Sill comes out as without it; what can't be both is refused, and nobody waits for ever. */
static void check_others(void) {
  check_context = "others";
  MPI_Comm comm, node;
  const int odd = rank % 2;
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node), MPI_SUCCESS);
  CHECK(node != MPI_COMM_NULL);
  MPI_Comm_free(&node);
  const int type = odd ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED;
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &comm), MPI_SUCCESS);
  CHECK_EQ(comm == MPI_COMM_NULL, odd);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &comm), MPI_SUCCESS);
  CHECK(comm == MPI_COMM_NULL);
  if (ranks > 1) {
    MPI_Info info = odd ? MPI_INFO_NULL : split_info(shared, NONE);
    split_must_fail(odd ? MPI_COMM_TYPE_SHARED : MPIX_COMM_TYPE_NEIGHBORHOOD, info, MPI_ERR_INFO_VALUE, "some ranks");
  }
}

static void check_network_topology(void) {
  check_context = "network_topo";
#ifdef OPEN_MPI
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, make_info("network_topo=torus_dimension:1"), MPI_ERR_INFO_KEY,
                  "network");
#else
  MPI_Comm comm;
  const int types[] = {MPIX_COMM_TYPE_NEIGHBORHOOD, SILL_COMM_TYPE_NEIGHBORHOOD};
  for (int i = 0; i < 2; i++) {
    MPI_Info info = make_info("network_topo=torus_dimension:1");
    CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, types[i], 0, info, &comm), MPI_SUCCESS);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Info_free(&info);
  }
#endif
}

static void check_inter_communicator(void) {
  check_context = "inter-communicator";
  if (ranks < 2) return;
  MPI_Comm half, inter, comm = MPI_COMM_SELF;
  const int odd = rank % 2;
  MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - odd, 1, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Info info = split_info(shared, NONE);
  /* Only one rank asks; all learn of it. */
  const int type = rank == 0 ? MPIX_COMM_TYPE_NEIGHBORHOOD : MPI_UNDEFINED;
  const int code = MPI_Comm_split_type(inter, type, 0, rank == 0 ? info : MPI_INFO_NULL, &comm);
  CHECK_EQ(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Info_free(&info);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  ranks = size_of(MPI_COMM_WORLD);
  sill_split_stats stats = {.size = sizeof stats};
  CHECK_EQ(class_of(sill_split_get_stats(&stats)), MPI_ERR_ARG);
  CHECK_SAY(strstr(sill_error_string(), "no split") != NULL, "%s", sill_error_string());
  make_folders();
  check_names();
  stats.size = 0;
  CHECK_EQ(class_of(sill_split_get_stats(&stats)), MPI_ERR_ARG);
  CHECK_SAY(strstr(sill_error_string(), "sizeof(sill_split_stats)") != NULL, "%s", sill_error_string());
  check_methods();
  check_order();
  check_missing_keys();
  check_bad_values();
  check_guided();
  check_others();
  check_network_topology();
  check_inter_communicator();
  MPI_Finalize();
  return 0;
}
