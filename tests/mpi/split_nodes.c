/* Splits by directory on simulated nodes: every rank has mounts of its own, and is told that it runs on a kernel of its
 * node's own. Network stores are overlays (mounted by test_split.py) that the kernel calls something else.
 *   split_nodes namespaces          three namespaces on one node, three groups
 *   split_nodes cluster SEED COUNT  four nodes: burst buffers, own disks, failures, COUNT random topologies
 *   split_nodes failures            with test_split.py's libbreak.so: a device error, a directory that is deleted
 * meanwhile
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "splits.h"

enum { NODES = 4, NETWORKS = 3, DISKS = 2 };

static int rank, ranks, node;
static char place[2][512];    /* where this rank mounts its directory: two names */
static char real_mounts[128]; /* the kernel's own list of mounts */

static void must(int result, const char* what) { CHECK_SAY(result >= 0, "%s: %s", what, strerror(errno)); }

static void write_file(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  CHECK_SAY(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s: %s", path, strerror(errno));
}

static void bind(const char* from, const char* to, unsigned long flags) {
  must(mount(from, to, NULL, MS_BIND, NULL), to);
  if (flags) must(mount(NULL, to, NULL, MS_BIND | MS_REMOUNT | flags, NULL), to);
}

static void enter_namespace(void) {
  must(unshare(CLONE_NEWNS), "unshare");
  must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
  for (int name = 0; name < 2; name++) {
    snprintf(place[name], sizeof place[name], "%s/%s", scratch(), name ? "near" : "data");
    if (mkdir(place[name], 0755) != 0) CHECK_EQ(errno, EEXIST);
  }
}

/* From here on the kernel says that it is another one. */
static void enter_node(void) {
  char path[512], text[64];
  snprintf(path, sizeof path, "%s/boot.%d", scratch(), rank);
  snprintf(text, sizeof text, "00000000-0000-0000-0000-00000000000%d\n", node);
  write_file(path, text);
  bind(path, "/proc/sys/kernel/random/boot_id", 0);
  snprintf(path, sizeof path, "%s/mounts.%d", scratch(), rank);
  write_file(path, "");
  bind(path, "/proc/self/mountinfo", 0);
  snprintf(real_mounts, sizeof real_mounts, "/proc/self/task/%d/mountinfo", (int)gettid());
}

/* Shows the list of mounts anew, overlays as network file systems: sources alike, or the overlay's own. */
static void show_mounts(int alike) {
  char line[4096], path[512];
  snprintf(path, sizeof path, "%s/mounts.%d", scratch(), rank);
  FILE* from = fopen(real_mounts, "r");
  FILE* to = fopen(path, "w");
  CHECK(from && to);
  while (fgets(line, sizeof line, from)) {
    char* type = strstr(line, " - overlay ");
    if (!type) {
      fputs(line, to);
      continue;
    }
    char source[64] = "same";
    char* options = strchr(type + 11, ' ');
    CHECK(options != NULL);
    if (!alike) snprintf(source, sizeof source, "%.*s", (int)(options - type - 11), type + 11);
    fprintf(to, "%.*s - nfs4 server:/%s%s", (int)(type - line), line, source, options);
  }
  CHECK_EQ(fclose(from) | fclose(to), 0);
}

/* One rank's directory in a topology: nothing, a disk of its node, or a network store; perhaps a folder in it. */
struct sight {
  int kind, number, folder, name, read_only;
};
enum { NOTHING, DISK, NETWORK };

static int store_number(struct sight sight, int of_node) {
  if (sight.kind == NOTHING) return -1;
  const int number = sight.kind == NETWORK ? sight.number : NETWORKS + of_node * DISKS + sight.number;
  return 2 * number + sight.folder;
}

static void store_path(char* path, size_t size, struct sight sight) {
  const char* folder = sight.folder ? "/folder" : "";
  if (sight.kind == NETWORK)
    snprintf(path, size, "%s/net%d%s", scratch(), sight.number, folder);
  else
    snprintf(path, size, "%s/disk%d.%d%s", scratch(), node, sight.number, folder);
}

/* Mounts what this rank sees; the path it will ask for. A rank that sees nothing asks for what isn't there. */
static const char* enter(struct sight sight) {
  static char missing[512];
  char path[512];
  snprintf(missing, sizeof missing, "%s/missing", scratch());
  if (sight.kind == NOTHING) return missing;
  store_path(path, sizeof path, sight);
  bind(path, place[sight.name], sight.read_only ? MS_RDONLY : 0);
  return place[sight.name];
}

static void leave(struct sight sight) {
  char path[512];
  if (sight.kind == NOTHING) return;
  must(umount2(place[sight.name], MNT_DETACH), "umount");
  store_path(path, sizeof path, sight);
  CHECK_EQ(traces_in(path), 0);
}

/* Splits with what each rank sees; every method that must be exact is. */
static sill_split_stats check(struct sight sight, int alike, const char* method) {
  const char* path = enter(sight);
  show_mounts(alike);
  const sill_split_stats stats = split_must_give(path, method, store_number(sight, node));
  leave(sight);
  return stats;
}

static void make_disks(void) {
  for (int number = 0; number < DISKS; number++) {
    char path[512];
    snprintf(path, sizeof path, "%s/disk%d.%d", scratch(), node, number);
    if (mkdir(path, 0755) != 0) CHECK_EQ(errno, EEXIST);
    strcat(path, "/folder");
    if (mkdir(path, 0755) != 0) CHECK_EQ(errno, EEXIST);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* One directory is enough for all of them, but each has another one mounted over it. */
static void check_namespaces(void) {
  check_context = "namespaces";
  char path[512];
  snprintf(path, sizeof path, "%s/own%d", scratch(), rank % 3);
  if (mkdir(path, 0755) != 0) CHECK_EQ(errno, EEXIST);
  bind(path, place[0], 0);
  for (int i = 0; i < 3; i++) {
    static const char* const methods[] = {"auto", "exhaustive", "fingerprint"};
    const sill_split_stats stats = split_must_give(place[0], methods[i], rank % 3);
    CHECK_EQ(stats.store_count, ranks < 3 ? ranks : 3);
    CHECK_EQ(stats.creates, i == 1 ? ranks + stats.store_count : 0);
    CHECK_EQ(traces_in(place[0]), 0);
  }
}

/* Nodes 0 and 1 share a burst buffer, 2 and 3 have disks of their own, and all have a common file system. */
static void check_burst_buffer(void) {
  check_context = "burst buffer";
  const struct sight global = {NETWORK, 0, 0, 0, 0};
  const struct sight buffer = {node < 2 ? NETWORK : DISK, 1, 0, 1, 0};
  const struct sight disk = {DISK, 0, 0, 1, 0};
  sill_split_stats stats = check(global, 0, "auto");
  CHECK_EQ(stats.creates, 1);
  CHECK_EQ(stats.looks, NODES - 1);
  CHECK_EQ(stats.store_count, 1);
  stats = check(buffer, 0, "auto");
  CHECK_EQ(stats.creates, 1);
  CHECK_EQ(stats.looks, NODES - 1);
  CHECK_EQ(stats.store_count, 3);
  stats = check(disk, 0, "auto");
  CHECK_EQ(stats.creates + stats.looks, 0);
  CHECK_EQ(stats.store_count, NODES);
  check(global, 0, "exhaustive");
  check(buffer, 0, "exhaustive");
  stats = check(global, 0, "heuristic");
  CHECK_EQ(stats.creates, 1);
  CHECK_EQ(stats.looks, 1);
  stats = check(global, 0, "fingerprint");
  CHECK_EQ(stats.creates + stats.looks, 0);
  CHECK_EQ(stats.unproven, 1);
}

/* What a killed job left goes with the next token. */
static void check_cleaning(void) {
  check_context = "cleaning";
  const struct sight global = {NETWORK, 2, 0, 0, 0};
  char path[512];
  snprintf(path, sizeof path, "%s/net2/.sill-split-%032d", scratch(), 7);
  if (rank == 0) {
    const struct timespec old[2] = {{time(NULL) - 7200, 0}, {time(NULL) - 7200, 0}};
    must(symlink("0", path), path);
    must(utimensat(AT_FDCWD, path, old, AT_SYMLINK_NOFOLLOW), path);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const sill_split_stats stats = check(global, 0, "auto");
  CHECK_EQ(stats.creates, 1);
  CHECK_EQ(stats.removes, 2);
}

/* A store that nobody, or not everybody, may write to, and one without room. */
static void check_refusals(void) {
  check_context = "read-only";
  const struct sight sealed = {NETWORK, 0, 0, 0, 1};
  sill_split_stats stats = check(sealed, 0, "auto");
  CHECK_EQ(stats.creates, 0);
  CHECK_EQ(stats.unproven, 1);
  stats = check(sealed, 0, "exhaustive");
  CHECK_EQ(stats.unproven, 1);
  stats = check(sealed, 0, "heuristic");
  CHECK_EQ(stats.unproven, 1);

  check_context = "read-only for some";
  const struct sight partly = {NETWORK, 0, 0, 0, node != NODES - 1};
  stats = check(partly, 0, "auto");
  CHECK_EQ(stats.creates, 1);
  CHECK_EQ(stats.unproven, 0);

  check_context = "full";
  char full[512];
  snprintf(full, sizeof full, "%s/full", scratch());
  for (int i = 0; i < 3; i++) {
    static const char* const methods[] = {"auto", "exhaustive", "heuristic"};
    show_mounts(0);
    stats = split_must_give(full, methods[i], 0);
    CHECK_EQ(stats.creates, 0);
    CHECK_EQ(stats.unproven, 1);
    CHECK_EQ(traces_in(full), 0);
  }
}

/* Ranks of other users: one may not write, one may not even look, one can't reach the directory. */
static void check_permissions(void) {
  check_context = "permissions";
  const struct sight global = {NETWORK, 1, 1, 0, 0};
  const char* path = enter(global);
  show_mounts(0);
  for (int i = 0; i < 3; i++) {
    static const mode_t modes[] = {0755, 0700, 0755};
    if (rank == 0) must(chmod(path, modes[i]), path);
    if (rank == 0) must(chmod(scratch(), i == 2 ? 0700 : 0777), scratch());
    MPI_Barrier(MPI_COMM_WORLD);
    const int nobody = node == 0;
    if (nobody) must(seteuid(65534), "seteuid");
    const sill_split_stats stats = split_must_give(path, "auto", nobody && i == 2 ? -1 : 0);
    if (nobody) must(seteuid(0), "seteuid");
    CHECK_EQ(stats.unproven, nobody && i == 1);
    CHECK_EQ(traces_in(path), 0);
  }
  if (rank == 0) must(chmod(scratch(), 0777), scratch());
  leave(global);
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned long long state; /* of random numbers */

/* The directory of rank 0 can't be written; what others have made by then goes, too. */
static void check_device_error(void) {
  check_context = "device error";
  const struct sight mine = {NETWORK, node < 2 ? 0 : 1, 0, 0, 0};
  const char* path = enter(mine);
  show_mounts(0);
  if (rank == 0) must(setenv("SILL_TEST_BREAK", "io", 1), "setenv");
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, split_info(path, "auto"), MPI_ERR_IO, path);
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, split_info(path, "exhaustive"), MPI_ERR_IO, path);
  split_must_fail(MPIX_COMM_TYPE_NEIGHBORHOOD, split_info(path, "heuristic"), MPI_ERR_IO, path);
  must(unsetenv("SILL_TEST_BREAK"), "unsetenv");
  leave(mine);
}

/* Everybody has seen the directory; then it is gone. */
static void check_deleted(void) {
  check_context = "deleted";
  char victim[512];
  snprintf(victim, sizeof victim, "%s/net0/victim", scratch());
  if (rank == 0) must(mkdir(victim, 0755), victim);
  MPI_Barrier(MPI_COMM_WORLD);
  bind(victim, place[0], 0);
  show_mounts(0);
  if (rank == 0) must(setenv("SILL_TEST_BREAK", victim, 1), "setenv");
  split_must_give(place[0], "auto", -1);
  must(unsetenv("SILL_TEST_BREAK"), "unsetenv");
  must(umount2(place[0], MNT_DETACH), "umount");
  CHECK(access(victim, F_OK) != 0);
}

/* All ranks draw the same numbers, so each knows what all see. */
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static void check_random_topology(void) {
  struct sight mine = {0};
  int stores[64], views = 0, seen[64 * NODES] = {0};
  char distinct[64] = {0};
  int count = 0;
  const int of_node = (int)draw(3); /* mostly by node, as on real clusters, or rank by rank */
  struct sight last = {0};
  for (int other = 0; other < ranks; other++) {
    const int its_node = other * NODES / ranks;
    struct sight sight = {(int)draw(8), 0, draw(5) == 0, (int)draw(2), draw(6) == 0};
    sight.kind = sight.kind == 0 ? NOTHING : sight.kind < 4 ? DISK : NETWORK;
    sight.number = (int)draw(sight.kind == DISK ? DISKS : NETWORKS);
    if (of_node && other > 0 && (other - 1) * NODES / ranks == its_node) sight = last;
    if (sight.kind == DISK) sight.read_only = 0;
    last = sight;
    stores[other] = store_number(sight, its_node);
    if (other == rank) mine = sight;
    if (stores[other] < 0) continue;
    count += !distinct[stores[other]];
    distinct[stores[other]] = 1;
    views += !seen[stores[other] * NODES + its_node];
    seen[stores[other] * NODES + its_node] = 1;
  }
  const int alike = draw(2) == 0;
  /* Where a store is read-only for all, only its identity is left, and names that lie lead astray. */
  int writers[64] = {0}, writes = !mine.read_only && stores[rank] >= 0;
  MPI_Allgather(&writes, 1, MPI_INT, writers, 1, MPI_INT, MPI_COMM_WORLD);
  int provable = 1;
  for (int other = 0; other < ranks; other++) {
    int writable = stores[other] < 0;
    for (int third = 0; third < ranks; third++) writable |= stores[third] == stores[other] && writers[third];
    provable &= writable;
  }
  if (!provable) mine.read_only = 0;

  const sill_split_stats stats = check(mine, alike, "auto");
  CHECK_EQ(stats.store_count, count);
  CHECK_EQ(stats.unproven, 0);
  CHECK_SAY((int)stats.creates <= count, "%d creates for %d stores", (int)stats.creates, count);
  CHECK_SAY((int)stats.looks <= 3 * views, "%d looks for %d views", (int)stats.looks, views);
  CHECK_EQ(stats.removes, stats.creates);
  CHECK_EQ(check(mine, alike, "exhaustive").store_count, count);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  rank = rank_in(MPI_COMM_WORLD);
  ranks = size_of(MPI_COMM_WORLD);
  node = rank * NODES / ranks;
  CHECK(argc >= 2);
  enter_namespace();
  if (strcmp(argv[1], "namespaces") == 0) {
    check_namespaces();
  } else if (strcmp(argv[1], "failures") == 0) {
    enter_node();
    check_device_error();
    check_deleted();
  } else {
    CHECK_EQ(argc, 4);
    make_disks();
    enter_node();
    check_burst_buffer();
    check_cleaning();
    check_refusals();
    check_permissions();
    state = strtoull(argv[2], NULL, 10);
    static char context[64];
    check_context = context;
    for (int i = 0; i < atoi(argv[3]); i++) {
      snprintf(context, sizeof context, "topology %d", i);
      check_random_topology();
    }
  }
  MPI_Finalize();
  return 0;
}
