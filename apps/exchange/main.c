/* sill-exchange: data go from producers to changing consumers through storage, as between the steps of a workflow. A
 * block is written to the near store where its consumer shares that, else to the global one; or always to the global
 * one, to compare. Both take turns, with the same partners. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "near_file.h"
#include "neighborhood.h"

enum { max_sizes = 64, path_room = 4200, fresh_tag = 1 };
enum way { way_near, way_global, way_count };
static const char* const way_names[way_count] = {"near", "global"};

static struct {
  const char *sizes, *near, *split;
  uint64_t rounds, seed;
  bool corrupt;
} options = {.sizes = "64k,1m,8m", .rounds = 10, .seed = 1};

static const struct app_option option_table[] = {
    {"sizes", "LIST", APP_TEXT, &options.sizes, "of the blocks"},
    {"rounds", "N", APP_NUMBER, &options.rounds, "exchanges of each size; every rank gets another partner in each"},
    {"seed", "N", APP_NUMBER, &options.seed, "of the order of the partners"},
    {"near", "DIR", APP_TEXT, &options.near, "folder of the near store; %h: host, %r: rank, %%: %"},
    {"split", "METHOD", APP_TEXT, &options.split, "nbhd_method: how the ranks that share --near are found"},
    {"test-corrupt", NULL, APP_FLAG, &options.corrupt, NULL},
};

static const struct app app = {
    .name = "sill-exchange",
    .purpose =
        "blocks from producers to changing consumers, by the near store where they share one, else the global one",
    .example = "sill run mpiexec -n 8 sill-exchange --near /local --store /project/me",
    APP_OPTIONS(option_table),
};

/* What all rounds need. */
struct exchange {
  bool* shares; /* by rank: whether it shares this rank's near store */
  int* order;   /* of the ranks: each produces for the next one, the last for the first */
  char near[4096];
  int fd[way_count]; /* this rank's file on each store */
  char path[way_count][path_room];
  char *block, *got;
};

/* Fastest, slowest and sum of the blocks' times: what writing one took its producer, and reading it its consumer. */
struct times {
  double fastest, slowest, sum;
  uint64_t count;
};

/* --- who shares a store --- */

static void find_neighbors(struct exchange* exchange) {
  MPI_Comm neighborhood = app_neighborhood(MPI_COMM_WORLD, exchange->near, options.split);
  exchange->shares = app_allocate_zero((size_t)app_ranks() * sizeof *exchange->shares);
  if (neighborhood == MPI_COMM_NULL) return; /* this rank exchanges all by the global store */
  int count = app_ranks_of(neighborhood);
  int* ranks = app_allocate((size_t)count * sizeof *ranks);
  int own = app_rank();
  APP_TRY(MPI_Allgather(&own, 1, MPI_INT, ranks, 1, MPI_INT, neighborhood));
  for (int i = 0; i < count; i++) exchange->shares[ranks[i]] = true;
  free(ranks);
  APP_TRY(MPI_Comm_free(&neighborhood));
}

/* Partners of a round, the same on all ranks: any order of the ranks, by the way of Fisher and Yates. */
static void shuffle(int* order, uint64_t round) {
  uint64_t state = options.seed << 32 | round;
  for (int i = 0; i < app_ranks(); i++) order[i] = i;
  for (int i = app_ranks() - 1; i > 0; i--) {
    int other = (int)(app_random(&state) % (uint64_t)(i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

static void find_partners(const int* order, int* producer, int* consumer) {
  int at = 0, ranks = app_ranks();
  while (order[at] != app_rank()) at++;
  *consumer = order[(at + 1) % ranks];
  *producer = order[(at + ranks - 1) % ranks];
}

/* --- blocks --- */

/* What rank `producer` makes in a round; each block is another. */
static void make_block(char* block, uint64_t bytes, int producer, uint64_t round) {
  uint64_t state = round << 32 | (uint64_t)producer;
  for (uint64_t at = 0; at < bytes; at += sizeof state) {
    uint64_t word = app_random(&state), left = bytes - at;
    memcpy(block + at, &word, left < sizeof word ? left : sizeof word);
  }
}

static void name_file(const struct exchange* exchange, enum way way, int producer, char* path) {
  const char* folder = way == way_near ? exchange->near : app_store();
  if (snprintf(path, path_room, "%s/exchange.%d", folder, producer) >= path_room)
    app_fail("%s: the path is too long", folder);
}

static void produce(const struct exchange* exchange, enum way way, uint64_t bytes) {
  near_write(exchange->fd[way], exchange->path[way], exchange->block, bytes, 0);
  if (fdatasync(exchange->fd[way]) != 0) app_fail("%s: %s", exchange->path[way], strerror(errno));
}

/* From the store, not from what the kernel still has of the producer's writing. */
static void consume(const struct exchange* exchange, enum way way, int producer, uint64_t bytes) {
  char path[path_room];
  name_file(exchange, way, producer, path);
  int fd = app_open(path, O_RDONLY);
  int refused = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (refused != 0) app_fail("%s: posix_fadvise: %s", path, strerror(refused));
  near_read(fd, path, exchange->got, bytes, 0);
  close(fd);
}

/* One block goes out, one comes in. Returns the seconds that it took to write and to read the one that came in. */
static double exchange_blocks(struct exchange* exchange, bool always_global, uint64_t bytes, uint64_t round,
                              bool* right) {
  int producer = 0, consumer = 0;
  find_partners(exchange->order, &producer, &consumer);
  make_block(exchange->block, bytes, app_rank(), round);
  if (options.corrupt && app_rank() == 0) exchange->block[bytes / 2] ^= 1;
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD));
  double begin = app_seconds(), written_s = 0;
  produce(exchange, !always_global && exchange->shares[consumer] ? way_near : way_global, bytes);
  double mine_s = app_seconds() - begin;
  APP_TRY(MPI_Sendrecv(&mine_s, 1, MPI_DOUBLE, consumer, fresh_tag, &written_s, 1, MPI_DOUBLE, producer, fresh_tag,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  begin = app_seconds();
  consume(exchange, !always_global && exchange->shares[producer] ? way_near : way_global, producer, bytes);
  double read_s = app_seconds() - begin;
  make_block(exchange->block, bytes, producer, round);
  if (app_verify() && memcmp(exchange->block, exchange->got, bytes) != 0) {
    fprintf(stderr, "sill-exchange: rank %d: the block of rank %d is wrong\n", app_rank(), producer);
    *right = false;
  }
  APP_TRY(MPI_Barrier(MPI_COMM_WORLD)); /* nobody still reads what the next round overwrites */
  return written_s + read_s;
}

/* --- figures --- */

static void add(struct times* times, double seconds) {
  if (times->count == 0 || seconds < times->fastest) times->fastest = seconds;
  if (seconds > times->slowest) times->slowest = seconds;
  times->sum += seconds;
  times->count++;
}

/* The figures of all ranks; none where there was no such exchange. Collective. */
static void report(const struct times* mine, uint64_t bytes, const char* placement, const char* partner) {
  struct times all = {0};
  double fastest = mine->count > 0 ? mine->fastest : 1e300;
  APP_TRY(MPI_Allreduce(&fastest, &all.fastest, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD));
  APP_TRY(MPI_Allreduce(&mine->slowest, &all.slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
  APP_TRY(MPI_Allreduce(&mine->sum, &all.sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  APP_TRY(MPI_Allreduce(&mine->count, &all.count, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
  if (all.count == 0) return;
  char labels[120];
  snprintf(labels, sizeof labels, "bytes=%" PRIu64 " placement=%s partner=%s", bytes, placement, partner);
  app_result_of("time", all.fastest, "s", "%s statistic=min", labels);
  app_result_of("time", all.sum / (double)all.count, "s", "%s statistic=mean", labels);
  app_result_of("time", all.slowest, "s", "%s statistic=max", labels);
  if (strcmp(placement, "global") != 0) app_result("exchanges", labels, (double)all.count, "1");
}

/* All rounds of a size. A first one, in which the files get their blocks, doesn't count. */
static bool run_size(struct exchange* exchange, uint64_t bytes, uint64_t index, uint64_t sizes) {
  struct times all[2], near[2]; /* by whether the global store was always taken */
  memset(all, 0, sizeof all);
  memset(near, 0, sizeof near);
  bool right = true;
  for (uint64_t round = 0; round <= options.rounds; round++) {
    shuffle(exchange->order, round);
    int producer = 0, consumer = 0;
    find_partners(exchange->order, &producer, &consumer);
    for (int turn = 0; turn < 2; turn++) {
      bool always_global = (turn + round) % 2 != 0;
      double seconds = exchange_blocks(exchange, always_global, bytes, round, &right);
      if (round == 0) continue;
      add(&all[always_global], seconds);
      if (exchange->shares[producer]) add(&near[always_global], seconds);
    }
    app_progress("exchange", index * (options.rounds + 1) + round + 1, sizes * (options.rounds + 1), "rounds");
  }
  for (int global = 0; global < 2; global++) {
    report(&all[global], bytes, global != 0 ? "global" : "aware", "any");
    report(&near[global], bytes, global != 0 ? "global" : "aware", "near");
  }
  return right;
}

/* --- files --- */

static void open_files(struct exchange* exchange) {
  for (int way = 0; way < way_count; way++) {
    exchange->fd[way] = -1;
    if (way == way_near && !exchange->shares[app_rank()]) continue; /* no near store here */
    name_file(exchange, way, app_rank(), exchange->path[way]);
    exchange->fd[way] = open(exchange->path[way], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (exchange->fd[way] < 0) app_fail("%s (%s): %s", exchange->path[way], way_names[way], strerror(errno));
  }
}

static void close_files(const struct exchange* exchange) {
  for (int way = 0; way < way_count; way++) {
    if (exchange->fd[way] < 0) continue;
    if (close(exchange->fd[way]) != 0) app_fail("%s: %s", exchange->path[way], strerror(errno));
    if (!app_keep() && unlink(exchange->path[way]) != 0) app_fail("%s: %s", exchange->path[way], strerror(errno));
  }
}

static bool run(const uint64_t* sizes, size_t count) {
  struct exchange exchange = {.shares = NULL};
  uint64_t largest = 0;
  bool right = true;
  app_folder(options.near, exchange.near, sizeof exchange.near);
  find_neighbors(&exchange);
  open_files(&exchange);
  for (size_t i = 0; i < count; i++)
    if (sizes[i] > largest) largest = sizes[i];
  exchange.order = app_allocate((size_t)app_ranks() * sizeof *exchange.order);
  exchange.block = app_allocate(largest);
  exchange.got = app_allocate(largest);
  for (size_t i = 0; i < count; i++) right = run_size(&exchange, sizes[i], i, count) && right;
  close_files(&exchange);
  free(exchange.got);
  free(exchange.block);
  free(exchange.order);
  free(exchange.shares);
  return right;
}

/* 0, or the exit code after saying what is wrong with the options. */
static int check_options(uint64_t* sizes, size_t* count) {
  int code = 0;
  if ((*count = app_read_sizes(options.sizes, 1, UINT64_C(1) << 40, sizes, max_sizes)) == 0)
    code = app_wrong("--sizes %s: not a list of up to %d sizes", options.sizes, max_sizes);
  if (options.near == NULL) code = app_wrong("--near: name the near store's folder");
  if (options.rounds == 0 || options.rounds > 1 << 20) code = app_wrong("--rounds: 1 to %d", 1 << 20);
  return code != 0 || app_has_sill() ? code : app_wrong("Sill isn't loaded: start it with `sill run`");
}

int main(int argc, char** argv) {
  int code = 0;
  uint64_t sizes[max_sizes];
  size_t count = 0;
  MPI_Init(&argc, &argv);
  if (app_begin(&app, argc, argv, &code) && (code = check_options(sizes, &count)) == 0)
    code = app_end(run(sizes, count));
  MPI_Finalize();
  return code;
}
