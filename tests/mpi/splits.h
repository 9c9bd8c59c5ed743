/* Splits by directory: an info, the members that must come out, what was spent, and what may be left (nothing). */
#ifndef SILL_TESTS_SPLITS_H
#define SILL_TESTS_SPLITS_H

#include <dirent.h>
#include <sill/sill.h>

#include "check.h"

/* A hint that isn't given. */
#define NONE NULL

static inline MPI_Info split_info(const char* directory, const char* method) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (directory) MPI_Info_set(info, SILL_NBHD_DIRNAME, directory);
  if (method) MPI_Info_set(info, SILL_NBHD_METHOD, method);
  return info;
}

/* Traces of splits in a directory. */
static inline int traces_in(const char* directory) {
  DIR* folder = opendir(directory);
  CHECK_SAY(folder != NULL, "%s can't be opened", directory);
  int count = 0;
  for (const struct dirent* entry; (entry = readdir(folder));) count += strncmp(entry->d_name, ".sill", 5) == 0;
  closedir(folder);
  return count;
}

/* All ranks with the caller's number, if it isn't negative, are in the communicator, in order, and nobody else. */
static inline void expect_group(MPI_Comm comm, int number) {
  enum { MOST = 64 };
  int numbers[MOST], expected[MOST], found[MOST], members[MOST], count = 0;
  const int ranks = size_of(MPI_COMM_WORLD);
  CHECK(ranks <= MOST);
  MPI_Allgather(&number, 1, MPI_INT, numbers, 1, MPI_INT, MPI_COMM_WORLD);
  if (number < 0) {
    CHECK(comm == MPI_COMM_NULL);
    return;
  }
  for (int rank = 0; rank < ranks; rank++)
    if (numbers[rank] == number) expected[count++] = rank;
  CHECK(comm != MPI_COMM_NULL);
  CHECK_EQ(size_of(comm), count);
  MPI_Group all, group;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(comm, &group);
  for (int i = 0; i < count; i++) members[i] = i;
  MPI_Group_translate_ranks(group, count, members, all, found);
  for (int i = 0; i < count; i++) CHECK_EQ(found[i], expected[i]);
  MPI_Group_free(&all);
  MPI_Group_free(&group);
}

/* What all ranks spent in their last split, together. */
static inline sill_split_stats spent_by_all(void) {
  sill_split_stats stats = {.size = sizeof stats};
  CHECK_EQ(sill_split_get_stats(&stats), MPI_SUCCESS);
  uint64_t mine[3] = {stats.creates, stats.looks, stats.removes}, all[3];
  MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  stats.creates = all[0];
  stats.looks = all[1];
  stats.removes = all[2];
  return stats;
}

/* Splits MPI_COMM_WORLD; the communicator must hold the ranks with this rank's `number`. */
static inline sill_split_stats split_must_give(const char* directory, const char* method, int number) {
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Info info = split_info(directory, method);
  CHECK_EQ(MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, 0, info, &comm), MPI_SUCCESS);
  MPI_Info_free(&info);
  expect_group(comm, number);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  return spent_by_all();
}

/* Splits MPI_COMM_WORLD, which must fail on every rank with a text that holds `word`. */
static inline void split_must_fail(int split_type, MPI_Info info, int error_class, const char* word) {
  MPI_Comm comm = MPI_COMM_SELF;
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Comm_split_type(MPI_COMM_WORLD, split_type, 0, info, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Errhandler_free(&handler);
  CHECK_SAY(class_of(code) == error_class, "class %d, not %d: %s", class_of(code), error_class, sill_error_string());
  CHECK_SAY(strstr(sill_error_string(), word) != NULL, "%s is not in: %s", word, sill_error_string());
  CHECK(comm == MPI_COMM_NULL);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

#endif
