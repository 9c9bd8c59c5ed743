// Prints the hint table: as JSON for the command, with --markdown as docs/hints.md.
#include <cstdio>
#include <string>
#include <string_view>

#include "base/coarray_options.hpp"
#include "base/hints.hpp"
#include "base/split_hints.hpp"
#include "base/text.hpp"

namespace {

// `of`: what the key is a hint of, "window" or "communicator".
template <class Row>
std::string json_row(const Row& row, std::string_view of) {
  std::string aliases;
  for (const std::string_view alias : row.aliases) aliases += (aliases.empty() ? "" : ", ") + sill::json_string(alias);
  return "  {\"of\": " + sill::json_string(of) + ", \"key\": " + sill::json_string(row.key) +
         ", \"values\": " + sill::json_string(row.values) + ", \"default\": " + sill::json_string(row.default_value) +
         ", \"unit\": " + sill::json_string(row.unit) + ", \"aliases\": [" + aliases +
         "], \"help\": " + sill::json_string(row.help) + ", \"collective\": " + (row.collective ? "true" : "false") +
         "}";
}

std::string json() {
  std::string rows;
  for (const sill::HintRow& row : sill::hint_table()) rows += (rows.empty() ? "" : ",\n") + json_row(row, "window");
  for (const sill::SplitRow& row : sill::split_hint_table()) rows += ",\n" + json_row(row, "communicator");
  return "[\n" + rows + "\n]\n";
}

// A cell of a Markdown table, in which a bar would begin the next one.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + std::string(text) + "`"; }

template <class Row>
std::string markdown_row(const Row& row) {
  std::string help(row.help);
  for (const std::string_view alias : row.aliases) help += " Also as " + code(alias) + ".";
  const std::string unit = row.unit.empty() ? "" : ", " + std::string(row.unit);
  return "| " + code(row.key) + " | " + cell(row.values) + unit + " | " + code(row.default_value) + " | " +
         (row.collective ? "yes" : "no") + " | " + cell(help) + " |\n";
}

constexpr std::string_view before_table = R"(# Hints

The `MPI_Info` keys that put a window on storage, and below those of [communicators](#communicators). This page is written by
`sill-hint-table --markdown`; `sill hints` prints the same tables.

| key | values | default | same on all ranks | meaning |
|---|---|---|---|---|
)";

constexpr std::string_view after_table = R"(
Unknown keys are ignored, as the MPI standard wants it. A known key with a bad value is an error that names key, value and
reason: sizes are plain decimal bytes (`1048576`, not `1M`), and nothing may stand behind a number. Where a key is given
twice (by its alias, say), the last one counts.

`%r` is the rank in `MPI_COMM_WORLD`, `%w` counts windows from 0 (`m0`, `m1`, ... for `MPI_Alloc_mem`; programs that were
[spawned](spawn.md#files) count for themselves), and `%j` is `SILL_JOB_ID`, else the job id of Slurm, PBS, Flux, LSF or
SGE, else `local`.

`MPI_Alloc_mem` is a local call: ranks that name the same file there don't lie one after another but collide
(`MPI_ERR_FILE_IN_USE`). A rule for programs that call it needs `%r` in the name.

## What became of them

`MPI_Win_get_info` answers with what was settled for the rank that asks: `storage_alloc_filename` without placeholders,
`storage_alloc_factor` as a number where `auto` was asked for, `storage_alloc_engine` as `staged` where the bytes can't be
mapped, striping only where it was applied. All others are as asked for, or their defaults. Given as hints again, the answers
lead to the same files. `storage_alloc_window_path` is only in the answer: `native`, `direct` or `create`, the window's path in
[architecture.md](architecture.md#the-hidden-window-and-its-paths). Windows over memory of `MPI_Alloc_mem` answer with the
hints of that memory (of the one attached first). A name that is too long for the MPI library's infos (255 bytes with Open
MPI) is left out; `sill_win_get_path` in `sill.h` tells the path of any length.

## Access styles

| style | what it does |
|---|---|
| `random` | `MADV_RANDOM`: no reading ahead, pages of 4 KiB, nothing written behind. Comes before all others |
| `sequential`, `read_once`, `write_once` | `MADV_SEQUENTIAL`: the kernel reads further ahead, and gives up first what has been passed |
| `write_once`, `write_mostly`, `sequential` | what is full of segments of 64 MiB and more is written out before the next sync, also where all fits into memory |
| `read_mostly`, `reverse_sequential` | nothing of their own |

Any style ends the learning from faults (`storage_alloc_learn`): it is taken at its word. `read_mostly` has nothing to ask for:
the kernel keeps what is used as long as there is memory. Of 524,288 random reads of a quarter of the memory limit, beside two
scans of 1 GiB, 4 waited for the device; `MADV_WILLNEED` again and again was no faster (ratio 0.94, 0.6 to 2.5), and `MADV_COLD`
on what had been scanned made 0.18 of the speed. For `reverse_sequential` the kernel has no advice: without any it reads around a
fault in both directions (and by 2 MiB in large pages), and `MADV_SEQUENTIAL` would make it read forward only. In large pages,
512 MiB of a cold ext4 were read backwards in 0.21 s without any, in 0.22 s with `MADV_SEQUENTIAL`, and in 0.30 s, 0.73 of the
speed, where another thread called `MADV_WILLNEED` for the 8 MiB in front (medians of 9).

## Windows that are only read

With `storage_alloc_readonly=true` any number of jobs and windows may have the same bytes at once; a window that writes them is
refused, and the other way round (`MPI_ERR_FILE_IN_USE`). The file must be there (`MPI_ERR_NO_SUCH_FILE`) and long enough
(`MPI_ERR_BAD_FILE`); read permission is enough, also on a read-only mount. Layout and offset mean what they always do. A put,
an accumulate or another RMA call that would write is an error of class `MPI_ERR_READ_ONLY`; a store through a pointer ends the
program with a line that names window and file. `MPI_Win_sync` and `MPI_Win_free` succeed, with nothing to do;
`storage_alloc_reserve`, `storage_alloc_discard`, `file_perm` and striping have no effect; `storage_alloc_unlink=true` and a
`storage_alloc_factor` other than 1.0 are errors. With `storage_alloc_engine=staged` the segment is a copy in memory, which the
program itself may change, and which is never written back.

## For programs nobody edits

Rules give hints to windows whose info has no `alloc_type`, and to `MPI_Alloc_mem`. What the info says comes first, then the
variable `SILL_WINDOWS`, then the file `sill.toml`, key by key. In both, an unknown key is an error.

`SILL_WINDOWS` is a list of `key=value`; a part without `=` continues the value before it:

```sh
SILL_WINDOWS="alloc_type=storage,storage_alloc_filename=/scratch/%j/w%w.%r,access_style=random,write_mostly"
```

`sill.toml` is `$SILL_CONFIG`, else `$XDG_CONFIG_HOME/sill/sill.toml`, else `~/.config/sill/sill.toml`, and has one table:

```toml
[windows]
alloc_type = "storage"
storage_alloc_filename = "/scratch/%j/w%w.%r"
storage_alloc_factor = 0.5
storage_alloc_unlink = true
file_perm = 0o640
```

## In a program

```c
MPI_Info info;
MPI_Info_create(&info);
MPI_Info_set(info, "alloc_type", "storage");
MPI_Info_set(info, "storage_alloc_filename", "/scratch/table.%r");
MPI_Win_allocate(size, 1, info, MPI_COMM_WORLD, &base, &win);
```

## Communicators

`MPI_Comm_split_type` with `MPIX_COMM_TYPE_NEIGHBORHOOD` (in `sill/sill.h` and `sill/sill.f90`) takes these keys:

| key | values | default | same on all ranks | meaning |
|---|---|---|---|---|
)";

constexpr std::string_view after_split_table = R"(
```c
MPI_Info_set(info, "nbhd_common_dirname", "/local/%h");
MPI_Comm_split_type(MPI_COMM_WORLD, MPIX_COMM_TYPE_NEIGHBORHOOD, rank, info, &neighbors);
```

A rank that doesn't see its directory, or gives none, gets `MPI_COMM_NULL`. An info that has keys, but neither
`nbhd_common_dirname` nor MPICH's `network_topo` (under MPICH), is an error of class `MPI_ERR_INFO_KEY`; other keys beside
`nbhd_common_dirname` are ignored.

The standard's own way means the same: `MPI_COMM_TYPE_HW_GUIDED` or `MPI_COMM_TYPE_RESOURCE_GUIDED` with
`mpi_hw_resource_type` = `storage:DIR`.
)";

constexpr std::string_view before_coarrays = R"(
## Variables of kept coarrays

[coarrays.md](coarrays.md) tells what they are for.

| variable | values | default | meaning |
|---|---|---|---|
)";

std::string markdown_row(const sill::CoarrayOptionRow& row) {
  const std::string unit = row.unit.empty() ? "" : ", " + std::string(row.unit);
  return "| " + code(row.variable) + " | " + cell(row.values) + unit + " | " + code(row.default_value) + " | " +
         cell(row.help) + " |\n";
}

std::string markdown() {
  std::string text(before_table);
  for (const sill::HintRow& row : sill::hint_table()) text += markdown_row(row);
  text.append(after_table);
  for (const sill::SplitRow& row : sill::split_hint_table()) text += markdown_row(row);
  text.append(after_split_table).append(before_coarrays);
  for (const sill::CoarrayOptionRow& row : sill::coarray_option_table()) text += markdown_row(row);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool as_markdown = argc == 2 && std::string_view(argv[1]) == "--markdown";
  if (argc > 1 && !as_markdown) {
    std::fputs("usage: sill-hint-table [--markdown]\n", stderr);
    return 2;
  }
  const std::string text = as_markdown ? markdown() : json();
  const bool written = std::fputs(text.c_str(), stdout) >= 0 && std::fclose(stdout) == 0;
  if (!written) std::perror("sill-hint-table");
  return written ? 0 : 1;
}
