"""What of kept coarrays is refused, told or given up."""

from __future__ import annotations

import json
import mmap
import os
import platform
import shutil

import disks
import pytest
import records
from coarray_support import passed, refused
from launching import program
from sill import sidecar


def test_another_number_of_images_is_refused(run, kept):
    passed(run(["coarray_types", "fill"], 2))
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    refused(run(["coarray_types", "check"], 3), "image 1 of 2, this is image 1 of 3")
    refused(run(["coarray_types", "check"], 4), "image 1 of 2, this is image 1 of 4")
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    passed(run(["coarray_types", "check"], 2))


def test_another_program_is_refused(mpi, run, kept, scratch):
    passed(run(["coarray_types", "fill"], 2))
    other = shutil.copy(program(mpi, "coarray_types"), scratch / "other")
    refused(run([other, "check"], 2), "is a coarray of the program 'coarray_types', this one is 'other'")


def test_another_size_is_refused(run, kept):
    passed(run(["coarray_types", "fill"], 2))
    record = kept / "OpenCoarrays_of_program.1.sill"
    records.change(record, lambda sections: sections["coarrays"][0].update(size=20))
    refused(run(["coarray_types", "check"], 2), "has 20 bytes an image, the coarray 'of_program' has 24")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace('"size":24', '"size":25'), "its checksum doesn't fit"),
        (lambda text: text.replace('"sill": 2', '"sill": 3'), "of a newer Sill"),
        (lambda text: "", "there is no record in"),
    ],
    ids=["damaged", "newer", "empty"],
)
def test_a_record_that_cannot_be_read_is_refused(run, kept, change, words):
    passed(run(["coarray_types", "fill"], 2))
    record = kept / "OpenCoarrays_of_program.1.sill"
    text = record.read_text()
    record.write_text(change(text))
    outcome = run(["coarray_types", "check"], 2)
    refused(outcome, words)
    refused(outcome, str(record))
    record.write_text(text)
    passed(run(["coarray_types", "check"], 2))


# A window over each image's file, of which nothing is changed.
LOOKS = """
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char path[4096];
  snprintf(path, sizeof path, "%s.%d", argv[1], rank + 1);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_type", "storage");
  MPI_Info_set(info, "storage_alloc_filename", path);
  void* base;
  MPI_Win win;
  MPI_Win_allocate(24, 1, info, MPI_COMM_WORLD, &base, &win);
  MPI_Win_sync(win);
  MPI_Win_free(&win);
  MPI_Info_free(&info);
  MPI_Finalize();
}
"""


def test_a_plain_window_on_the_files_leaves_the_coarrays(mpi, run, kept, compile_c):
    passed(run(["coarray_types", "fill"], 2))
    looks = compile_c(LOOKS, cc=mpi.cc, name="looks")
    passed(run([looks, kept / "OpenCoarrays_of_program"], 2))
    assert records.sections_of(kept / "OpenCoarrays_of_program.1.sill")["window"]["window"] == "0"
    passed(run(["coarray_types", "check"], 2))


def test_records_of_format_1_are_read(run, kept):
    """Both kinds: of a coarray's own file, and of that of all coarrays of an image."""
    for shared in ("false", "true"):
        folder = kept / shared
        folder.mkdir()
        options = {"PCAF_PATH": str(folder), "PCAF_SHAREDFILE": shared}
        passed(run(["coarray_types", "fill"], 2, **options))
        for path in folder.glob("*.sill"):
            sections = records.sections_of(path)
            coarrays = sections["coarrays"] if shared == "true" else sections["coarrays"][0]
            old = {"sill": 1, **sections["window"], "coarrays" if shared == "true" else "coarray": coarrays}
            path.write_text(json.dumps(old) + "\n")
        passed(run(["coarray_types", "check"], 2, **options))


def test_a_strangers_file_is_refused(run, kept):
    file = kept / "OpenCoarrays_of_program.1"
    file.write_text("a diary")
    refused(run(["coarray_types", "fill"], 2), "OpenCoarrays_of_program.1: is no coarray's file")
    assert file.read_text() == "a diary"


def test_a_missing_file_is_refused(run, kept):
    passed(run(["coarray_types", "fill"], 2))
    away = kept / "OpenCoarrays_of_program.2"
    held = away.rename(kept / "held")
    before = {path.name: path.read_bytes() for path in kept.glob("*[0-9]")}
    refused(run(["coarray_types", "check"], 2), "OpenCoarrays_of_program.2: is missing")
    assert {path.name: path.read_bytes() for path in kept.glob("*[0-9]")} == before
    held.rename(away)
    passed(run(["coarray_types", "check"], 2))


@pytest.mark.parametrize("shared", ["false", "images"])
def test_a_cut_file_is_refused(run, kept, shared):
    passed(run(["coarray_types", "fill"], 2, PCAF_SHAREDFILE=shared))
    file = kept / f"OpenCoarrays_of_program{'' if shared == 'images' else '.1'}"
    whole = file.stat().st_size
    os.truncate(file, whole - 1)
    refused(run(["coarray_types", "check"], 2, PCAF_SHAREDFILE=shared), f"has {whole - 1} bytes of the {whole}")
    assert file.stat().st_size == whole - 1


@pytest.mark.parametrize("how", ["stop", "team"])
def test_a_shared_file_means_nothing_before_all_images_have_synced_it(run, kept, how):
    outcome = run(["coarray_part", how], 3, PCAF_SHAREDFILE="images")
    assert outcome.code not in (0, None), outcome.text()
    (coarray,) = records.sections_of(kept / "OpenCoarrays_shared.sill")["coarrays"]
    assert coarray["state"] == "fresh"


def names_kept(folder) -> set[str]:
    """The coarrays of which the next run would take something."""
    files = sidecar.window_files(folder)
    coarrays = [coarray for file in files for coarray in file.coarrays or [file.coarray]]
    return {coarray.name for coarray in coarrays if coarray.state != "fresh"}


@pytest.mark.parametrize("shared", ["false", "images", "true"])
def test_what_one_image_gives_up_is_given_up_by_all(run, kept, shared):
    """They end together, whatever each of them found out alone, and the next run begins anew."""
    for _ in range(2):
        outcome = passed(run("coarray_uneven", 3, PCAF_SHAREDFILE=shared))
        assert "'lone' is not kept" in outcome.err, outcome.text()
        assert names_kept(kept) == {"whole"}


def test_what_the_first_image_gives_up_is_no_error_of_the_others_before_they_know(run, kept):
    """A file of all images goes with its first image; `sync images` doesn't tell the others that it has gone."""
    outcome = passed(run(["coarray_uneven", "alone"], 3, PCAF_SHAREDFILE="images"))
    assert "'lone' is not kept" in outcome.err, outcome.text()
    assert names_kept(kept) == {"whole"}


@pytest.mark.parametrize("when", ["early", "late"])
def test_what_one_image_gave_up_before_a_kill_is_not_restored(run, kept, when):
    refused(run(["coarray_uneven", when], 3, PCAF_SHAREDFILE="images"))
    assert names_kept(kept) == {"whole"}
    passed(run("coarray_uneven", 3, PCAF_SHAREDFILE="images"))


@pytest.mark.parametrize("shared", ["false", "true"])
def test_what_one_image_gave_up_before_a_kill_is_refused(run, kept, shared):
    """Where images have files of their own, those of the others are still there."""
    refused(run(["coarray_uneven", "early"], 3, PCAF_SHAREDFILE=shared))
    refused(run("coarray_uneven", 3, PCAF_SHAREDFILE=shared), "lone", "is missing, but other images")
    passed(run("coarray_uneven", 3, PCAF_SHAREDFILE=shared, PCAF_VOLATILE="lone"))


def test_a_full_disk_is_told_when_the_coarray_is_allocated(run, kept):
    """60000 bytes are 15 pages: there is room for all but one of them, or for them but not for the sidecar."""
    disks.need_root("mount")
    for room in (14, 15):
        with disks.tmpfs(kept, disks.MIB):
            (kept / "filler").write_bytes(bytes(disks.MIB - room * mmap.PAGESIZE))
            refused(run(["coarray_part", "stop"], 3, PCAF_SHAREDFILE="images"), "'shared':", "No space left")
            assert [path.name for path in kept.iterdir()] == ["filler"]


# What gfortran makes of a local, saved coarray, but something else is stored before the coarray's address.
UNUSUAL_CODE = """
#include <stddef.h>

struct descriptor { char* data; size_t offset, dtype[2]; ptrdiff_t span; };
void _gfortran_caf_register(size_t, int, void**, struct descriptor*, int*, char*, size_t);
void _gfortran_caf_init(int*, char***);
void _gfortran_caf_sync_all(int*, char*, size_t);
void _gfortran_caf_finalize(void);

static void* token __asm__("caf_token.1");
static char* volatile another;
static char* volatile its_own;

__attribute__((constructor)) static void allocate(void) {
  struct descriptor made = {0};
  _gfortran_caf_register(4096, 0, &token, &made, NULL, NULL, 0);
  another = made.data + WRONG;
  its_own = made.data;
}

int main(int argc, char** argv) {
  _gfortran_caf_init(&argc, &argv);
  its_own[0] = 1;
  _gfortran_caf_sync_all(NULL, NULL, 0);
  _gfortran_caf_finalize();
  return 0;
}
"""


def test_a_coarray_that_is_taken_for_another_is_refused(mpi, run, kept, compile_c):
    if platform.machine() != "x86_64":
        pytest.skip("names are read off the code of x86-64 only")
    name = {"ompi": "openmpi", "mpich": "mpich"}[mpi.family]
    programs = [compile_c(UNUSUAL_CODE, "-O1", f"-DWRONG={n}", f"-lcaf_{name}", cc=mpi.cc, name="odd") for n in (0, 1)]
    passed(run([programs[0]], 2))
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert before["OpenCoarrays_another.1"][0] == 1
    refused(run([programs[1]], 2), "what was taken for 'another' is another local coarray")
    assert {path.name: path.read_bytes() for path in kept.glob("*.[12]")}.items() <= before.items()


def test_a_coarray_that_is_new_beside_others_is_told(run, kept):
    fill = ["coarray_types", "fill"]
    for shared, files in (("images", "i8*"), ("false", "i8.*")):
        sharing = {"PCAF_SHAREDFILE": shared, "PCAF_PREFIX": shared}
        assert "is new" not in passed(run(fill, 2, **sharing)).err
        assert "is new" not in passed(run(["coarray_types", "check"], 2, **sharing)).err
        for path in kept.glob(f"{shared}coarrays_of_all_types.{files}"):
            path.unlink()
        outcome = run(["coarray_types", "check"], 2, **sharing)
        refused(outcome, "coarrays: 'coarrays_of_all_types::i8' is new, others were restored")
        assert outcome.err.count("is new") == 1


# The device takes nothing but what is still zero.
NO_WRITES = """
#include <errno.h>
#include <stddef.h>

int msync(const double* begin, size_t length, int flags) {
  (void)length, (void)flags;
  if (*begin == 0) return 0;
  errno = EIO;
  return -1;
}
"""


@pytest.mark.parametrize("how", ["all", "images", "end"])
def test_an_error_of_the_device(mpi, caf, launcher, kept, compile_c, how):
    """A sync tells it by stat=, or ends the program; never by errmsg=, which gfortran 12 hands over wrongly."""
    device = compile_c(NO_WRITES, "-shared", "-fPIC", name="libnowrites.so")
    env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept)}
    outcome = launcher.run(mpi, ["coarray_refused", how], 3, sill=False, behind=[caf, device], env=env, timeout=60)
    refused(outcome, "Input/output error")
    assert outcome.out.count("stat 7001.") == (0 if how == "end" else 3), outcome.text()
    assert "SIGSEGV" not in outcome.err
