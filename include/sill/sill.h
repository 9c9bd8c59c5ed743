/* Sill: storage under MPI. The functions and names a program may use beyond the MPI interface itself.
 *
 * A program needs none of this: MPI_Info hints or SILL_WINDOWS put its windows on storage. What is here asks for more
 * than MPI can say. Link the library of your MPI family (`sill::sill`, `sill.pc`) or preload it; both work, with and
 * without `sill run`. Every function returns an MPI error code and calls no error handler. Where the MPI library was
 * linked before Sill, so that the program's calls don't come here, sill_win_* and sill_split_get_stats return
 * MPI_ERR_UNSUPPORTED_OPERATION.
 */
#ifndef SILL_SILL_H
#define SILL_SILL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SILL_VERSION_MAJOR 0
#define SILL_VERSION_MINOR 1
#define SILL_VERSION_PATCH 0

/* Rises when a program that was compiled for the former number can't use the library any more. Every struct begins with
 * its size, and members are added at its end alone, which leaves the number as it is. In a struct that a call fills,
 * set the size before, `stats.size = sizeof stats`: what both sides know is filled, and the size set to that many
 * bytes. A size that can't be one is an error (MPI_ERR_ARG). In a struct that the library makes, it is set. */
#define SILL_ABI 1

/* MPI_Info keys of windows; values and defaults: `sill hints` or docs/hints.md. */
#define SILL_ALLOC_TYPE "alloc_type"
#define SILL_ALLOC_FILENAME "storage_alloc_filename"
#define SILL_ALLOC_OFFSET "storage_alloc_offset"
#define SILL_ALLOC_FACTOR "storage_alloc_factor"
#define SILL_ALLOC_ORDER "storage_alloc_order"
#define SILL_ALLOC_UNLINK "storage_alloc_unlink"
#define SILL_ALLOC_DISCARD "storage_alloc_discard"
#define SILL_ALLOC_RESERVE "storage_alloc_reserve"
#define SILL_ALLOC_ENGINE "storage_alloc_engine"
#define SILL_ALLOC_LAYOUT "storage_alloc_layout"
#define SILL_ALLOC_READONLY "storage_alloc_readonly"
#define SILL_ALLOC_LEARN "storage_alloc_learn"
#define SILL_ALLOC_LARGE_PAGES "storage_alloc_large_pages"
#define SILL_ALLOC_WRITE_BEHIND "storage_alloc_write_behind"
#define SILL_ACCESS_STYLE "access_style"
#define SILL_FILE_PERM "file_perm"
#define SILL_STRIPING_FACTOR "striping_factor"
#define SILL_STRIPING_UNIT "striping_unit"

/* A key that only MPI_Win_get_info has: how the window was made, `native`, `direct` or `create`. */
#define SILL_ALLOC_WINDOW_PATH "storage_alloc_window_path"

/* MPI_Info keys of MPI_Comm_split_type. */
#define SILL_NBHD_DIRNAME "nbhd_common_dirname"
#define SILL_NBHD_METHOD "nbhd_method"

/* The split type for the ranks that see the same directory: this value is understood under every MPI, and so is
 * MPICH's own. */
#define SILL_COMM_TYPE_NEIGHBORHOOD 20977
#ifndef MPIX_COMM_TYPE_NEIGHBORHOOD
#define MPIX_COMM_TYPE_NEIGHBORHOOD SILL_COMM_TYPE_NEIGHBORHOOD
#endif

/* A number that the system below can't tell. */
#define SILL_UNKNOWN UINT64_MAX

/* What one rank's part of a window is made of, and what its syncs did. Bytes, except where the name says otherwise. */
typedef struct sill_win_stats {
  size_t size;             /* of this struct, set by the caller */
  uint64_t memory_bytes;   /* of the segment, in memory */
  uint64_t storage_bytes;  /* of the segment, on storage */
  uint64_t resident_bytes; /* of the storage part, in the page cache now; SILL_UNKNOWN before Linux 6.5 */
  uint64_t dirty_bytes;    /* of those, not yet on the device; SILL_UNKNOWN before Linux 6.5 */
  uint64_t synced_bytes;   /* of the storage part, written out by this rank's syncs; SILL_UNKNOWN before Linux 6.5 */
  uint64_t sync_count;     /* completed syncs of this rank */
  uint64_t sync_ns;        /* time this rank spent in them, nanoseconds */
} sill_win_stats;

/* How a split finds out who shares a directory: the values of nbhd_method. */
enum { SILL_SPLIT_AUTO, SILL_SPLIT_EXHAUSTIVE, SILL_SPLIT_HEURISTIC, SILL_SPLIT_FINGERPRINT };

/* What a split by directory found and spent. Operations are those of this rank on the directory. */
typedef struct sill_split_stats {
  size_t size;      /* of this struct, set by the caller */
  int method;       /* SILL_SPLIT_...; SILL_SPLIT_AUTO for a rank that gave no directory */
  int store;        /* the number of this rank's store, from 0 in the order of their lowest ranks; -1: none */
  int store_count;  /* stores among all ranks */
  int unproven;     /* 1: this store couldn't be probed (read-only, full, no permission) and rests on its identity */
  uint64_t creates; /* files and folders made */
  uint64_t looks;   /* looks for the files of others */
  uint64_t removes; /* files and folders removed */
  uint64_t time_ns; /* of the call, nanoseconds */
} sill_split_stats;

/* Fill *stats with what the thread's last MPI_Comm_split_type by directory did, failed ones included. Local; an error
 * (MPI_ERR_ARG) if the thread has made none. */
int sill_split_get_stats(sill_split_stats* stats);

/* Answers to what may not be known: no, yes, or the system below can't tell. */
enum { SILL_CANT_TELL = -1, SILL_NO = 0, SILL_YES = 1 };

/* What keeps a store's bytes. */
enum { SILL_MEDIUM_UNKNOWN, SILL_MEDIUM_MEMORY, SILL_MEDIUM_SOLID_STATE, SILL_MEDIUM_ROTATIONAL };

/* The store under a path. Texts that don't fit are cut, except `identity`, whose end becomes a checksum. */
typedef struct sill_store_info {
  size_t size;              /* of this struct, set by the caller */
  char file_system[32];     /* as mount shows it: "ext4", "nfs4"; "block device" where the path is one; "unknown" */
  char source[256];         /* as mount shows it: "/dev/vda", "server:/export" */
  char mount_point[256];    /* where this process sees it; "" for a block device, or if it is unknown */
  char device[64];          /* the kernel's name of the block device, "nvme0n1p2"; "" if none is seen */
  char identity[256];       /* the same wherever this store is seen; "boot:..." holds until then; copies have it too */
  uint64_t capacity_bytes;  /* all of it */
  uint64_t available_bytes; /* what ordinary users can still allocate */
  uint64_t block_bytes;     /* what is allocated at once */
  int medium;               /* SILL_MEDIUM_... */
  int shared;               /* other machines see the same files; this and the following: SILL_NO, SILL_YES, ... */
  int served;               /* a server or another process decides when others see mapped bytes, and keeps them */
  int read_only;
  int dax;       /* mappings reach the device itself, past the page cache */
  int reflink;   /* files can share blocks */
  int direct_io; /* O_DIRECT */
} sill_store_info;

/* A store that ranks share: those that see the same directory. */
typedef struct sill_store {
  size_t size;
  const sill_store_info* info; /* as the lowest of its ranks sees it */
  const char* path;            /* what that rank calls the directory */
  int directory;               /* which of the directories asked about, from 0 */
  int unproven;                /* 1: couldn't be probed (read-only, full, no permission), and rests on its identity */
  int rank_count;
  const int* ranks; /* ascending */
} sill_store;

typedef struct sill_store_list {
  size_t size;
  int store_count;
  const sill_store* const* stores; /* by directory, then by lowest rank */
  int directory_count;
  const sill_split_stats* const* splits; /* by directory: operations of all ranks, time of the slowest; `store` is -1 */
  int rank_count;
  const int* node_of; /* by rank: its node, numbered from 0 in the order of their lowest ranks */
  int node_count;
  const char* const* node_names;
} sill_store_list;

/* The SILL_ABI of the library. Local; also before MPI_Init and after MPI_Finalize. */
int sill_abi(void);

/* Make the storage of all ranks of `win` durable. Collective over the window's group: all that any rank stored or put,
 * and completed, before it came here. On a window without storage: MPI_SUCCESS, nothing to do.
 * Returns the error of the lowest failing rank (class MPI_ERR_NO_SPACE, MPI_ERR_IO, ...) on every rank; on a window
 * over memory of MPI_Alloc_mem (MPI_Win_create, MPI_Win_create_dynamic) each rank its own. */
int sill_win_sync_all(MPI_Win win);

/* Set *restored to 1 if this rank's storage held bytes before the window was allocated, else 0. Local. */
int sill_win_get_restored(MPI_Win win, int* restored);

/* Copy the path of this rank's file or device, absolute and without links, into `buffer` of *size bytes, and set *size
 * to the bytes it takes with its terminating zero. With *size 0 the buffer may be NULL, and only *size is set. Local;
 * an error (MPI_ERR_ARG) if the buffer is too small, which stays as it is, or if this rank has no storage in the
 * window. Of several memories of MPI_Alloc_mem attached to one window, the one attached first answers. */
int sill_win_get_path(MPI_Win win, char* buffer, size_t* size);

/* Fill *stats with this rank's numbers. Local; memory windows have only memory_bytes. */
int sill_win_get_stats(MPI_Win win, sill_win_stats* stats);

/* Describe the store under a file, directory or block device, which must exist; looks only, writes nothing. Local; also
 * before MPI_Init and after MPI_Finalize, where the error code is the class (MPI_ERR_NO_SUCH_FILE, MPI_ERR_ACCESS,
 * ...). */
int sill_store_query(const char* path, sill_store_info* info);

/* Check the keys and values of `rule`, a value of SILL_WINDOWS, and of the sill.toml that this process would read, as
 * its windows would; what fits together is only known with the hints of a window. Local; also before MPI_Init and after
 * MPI_Finalize, where the error code is the class (MPI_ERR_INFO_VALUE, ...). */
int sill_check_rule(const char* rule);

/* Which ranks of `comm`, an intra-communicator, share which stores, found as by MPI_Comm_split_type: of each rank
 * `count` directories, which may differ, with placeholders as in nbhd_common_dirname; NULL or a missing directory is
 * none. `info` may have nbhd_method. *list is filled on `root` and empty elsewhere; all free it. Collective: `root`,
 * `count` and the method are the same on all ranks, and so is an error, that of the lowest failing rank. */
int sill_stores(MPI_Comm comm, int root, int count, const char* const directories[], MPI_Info info,
                sill_store_list** list);

/* Free a list and set it to NULL. Local. */
int sill_stores_free(sill_store_list** list);

/* The text of the last error that Sill returned on this thread, with path, key and reason; "" if there was none.
 * MPI_Error_string gives the same text, cut to MPI_MAX_ERROR_STRING. Local; valid until the thread's next MPI call. */
const char* sill_error_string(void);

#ifdef __cplusplus
}
#endif
#endif
