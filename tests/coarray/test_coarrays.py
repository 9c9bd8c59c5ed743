"""Coarray programs with OpenCoarrays as it is installed: kept from run to run, and as right as without Sill."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import platform
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import disks
import pytest
from launching import BUILD, MPIS, PAUSE_S, ROOT, TIMEOUT_S, program
from sill import elf, sidecar

# 50 kills in all with SILL_TEST_KILLS=50; few in `make test`, each being a launch.
KILLS = int(os.environ.get("SILL_TEST_KILLS", "6"))
HAVE_COARRAYS = [mpi for mpi in MPIS if (BUILD / "bin" / mpi.name / "coarray_access").exists()]
if not HAVE_COARRAYS:
    pytest.skip("no OpenCoarrays and gfortran here (Debian: libcoarrays-openmpi-dev)", allow_module_level=True)


@pytest.fixture(params=HAVE_COARRAYS, ids=lambda mpi: mpi.name)
def mpi(request):
    return request.param


@pytest.fixture
def caf(mpi):
    """The library to preload for coarrays."""
    return BUILD / "lib" / f"libsill-caf-{mpi.family}.so"


@pytest.fixture
def kept(scratch):
    folder = scratch / "kept"
    folder.mkdir()
    return folder


@pytest.fixture
def run(mpi, caf, launcher, kept):
    """Run a coarray program; by default its coarrays are kept in the folder `kept`."""

    def start(words, images, keep=True, sill=True, **env):
        if images == 1 and mpi.kind == "ompi4":
            pytest.skip("with Open MPI 4.1, OpenCoarrays itself can't start one image alone (MPI_Win_create refuses)")
        settings = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept)} if keep else {}
        return launcher.run(
            mpi, words, images, sill=False, behind=[caf] if sill else [], env={**settings, **env}, timeout=60
        )

    return start


def passed(outcome):
    assert outcome.code == 0, outcome.text()
    return outcome


def refused(outcome, *texts):
    assert outcome.code != 0, outcome.text()
    for text in texts:
        assert text in outcome.err, outcome.text()


@pytest.mark.parametrize("images", [1, 2, 3, 4])
def test_accesses_in_memory(run, images):
    passed(run("coarray_access", images, keep=False))


@pytest.mark.parametrize("images", [1, 3])
def test_accesses_of_kept_coarrays(run, kept, images):
    passed(run("coarray_access", images))
    assert (kept / "OpenCoarrays_grown.1").stat().st_size == 9 * 8, "the last allocation's size"


def test_accesses_across_nodes(mpi, run):
    if mpi.family == "ompi":
        pytest.skip("Open MPI can't simulate nodes by a variable")
    nodes = {"MPIR_CVAR_NUM_CLIQUES": "2", "MPIR_CVAR_CLIQUES_BY_BLOCK": "1"}
    passed(run("coarray_access", 4, keep=False, **nodes))
    passed(run("coarray_access", 4, **nodes))


@pytest.mark.xdist_group("nodes")
def test_on_nodes(mpi, caf, launcher, nodes, kept):
    """Accesses from node to node; files in each node's own /tmp, and in a folder that both see."""
    made = nodes(2)

    def run(words, path):
        env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(path)}
        passed(replace(launcher, nodes=made).run(mpi, words, 4, sill=False, behind=[caf], env=env))

    run("coarray_access", kept)
    assert {path.name for path in kept.glob("OpenCoarrays_grown.?")} == {f"OpenCoarrays_grown.{i}" for i in range(1, 5)}
    run(["coarray_types", "fill"], "/tmp")
    run(["coarray_types", "check"], "/tmp")
    for node in range(2):
        found = {path.name for path in made.tmp(node).glob("OpenCoarrays_of_program.?")}
        assert found == {f"OpenCoarrays_of_program.{2 * node + 1}", f"OpenCoarrays_of_program.{2 * node + 2}"}


@pytest.mark.parametrize("images", [1, 2, 4])
def test_all_types_come_back(run, kept, images):
    passed(run(["coarray_types", "fill"], images))
    passed(run(["coarray_types", "check"], images))
    names = {file.coarray.name for file in sidecar.window_files(kept)}
    prefix = "coarrays_of_all_types::"
    assert {f"{prefix}i1", f"{prefix}a3", f"{prefix}derived", "of_program", "own"} <= names
    # Which of two is which, another build of the program couldn't tell.
    builds = [
        json.loads((kept / f"OpenCoarrays_{name}.1.sill").read_text())["coarray"]["build"] for name in ("own", "own-2")
    ]
    assert all(builds)
    # Any tool can read them: the file is the coarray.
    assert (kept / "OpenCoarrays_coarrays_of_all_types.i4.1").read_bytes() == struct.pack("=6i", *[41] * 6)


def test_shared_file(run, kept):
    passed(run(["coarray_types", "fill"], 3, PCAF_SHAREDFILE="true"))
    passed(run(["coarray_types", "check"], 3, PCAF_SHAREDFILE="true"))
    shared = kept / "OpenCoarrays_coarrays_of_all_types.i4"
    assert shared.read_bytes() == b"".join(struct.pack("=6i", *[40 + image] * 6) for image in (1, 2, 3))


def test_unlink_keeps_nothing(run, kept):
    passed(run(["coarray_types", "fill"], 2, PCAF_UNLINK="true", PCAF_PREFIX="gone_"))
    assert list(kept.iterdir()) == []


def test_teams_and_what_is_left_to_opencoarrays(mpi, run, kept):
    passed(run("coarray_teams", 4, keep=False))
    outcome = passed(run("coarray_teams", 4))
    assert "'has_parts' is not kept: it has allocatable components" in outcome.err
    names = {path.name for path in kept.iterdir()}
    assert "OpenCoarrays_shared.1" in names
    assert not any("lock" in name or "event" in name or "has_parts" in name for name in names)
    assert {"OpenCoarrays_of_team.team1.2", "OpenCoarrays_of_team.team2.2"} <= names
    passed(run(["coarray_teams", "kept"], 4, PCAF_VOLATILE="has_parts,shared,counter"))


def test_lists_choose_by_name(run, kept):
    module = "coarrays_of_all_types::"
    passed(
        run(
            ["coarray_types", "fill"], 2, PCAF_COARRAYS=f"{module}i8,of_program,{module}a1", PCAF_VOLATILE=f"{module}i8"
        )
    )
    names = {path.name for path in kept.glob("*.1")}
    assert names == {"OpenCoarrays_of_program.1", "OpenCoarrays_coarrays_of_all_types.a1.1"}


def test_a_name_that_no_coarray_has_is_told(run, kept):
    outcome = passed(run(["coarray_types", "fill"], 2, PCAF_COARRAYS="of_program,off_program"))
    assert outcome.err.count("no coarray was called") == 1
    assert "PCAF_COARRAYS: no coarray was called 'off_program'" in outcome.err


def test_the_modules_procedures(mpi, launcher, scratch):
    def start(mode, images=2):
        words = ["coarray_choice", scratch, mode]
        return launcher.run(mpi, words, images, sill=False, timeout=60)

    passed(start("first"))
    assert (scratch / "chosen.1").read_bytes() == struct.pack("=100i", *[1] * 100)
    passed(start("again"))
    passed(start("volatile"))
    assert not list(scratch.glob("chosen*"))


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
    file = kept / "OpenCoarrays_of_program.1.sill"
    file.write_text(file.read_text().replace('"size": 24, "image"', '"size": 20, "image"'))
    refused(run(["coarray_types", "check"], 2), "has 20 bytes an image, the coarray 'of_program' has 24")


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


@pytest.mark.parametrize("shared", ["false", "true"])
def test_a_cut_file_is_refused(run, kept, shared):
    passed(run(["coarray_types", "fill"], 2, PCAF_SHAREDFILE=shared))
    file = kept / f"OpenCoarrays_of_program{'' if shared == 'true' else '.1'}"
    whole = file.stat().st_size
    os.truncate(file, whole - 1)
    refused(run(["coarray_types", "check"], 2, PCAF_SHAREDFILE=shared), f"has {whole - 1} bytes of the {whole}")
    assert file.stat().st_size == whole - 1


@pytest.mark.parametrize("how", ["stop", "team"])
def test_a_shared_file_means_nothing_before_all_images_have_synced_it(run, kept, how):
    outcome = run(["coarray_part", how], 3, PCAF_SHAREDFILE="true")
    assert outcome.code not in (0, None), outcome.text()
    state = json.loads((kept / "OpenCoarrays_shared.sill").read_text())["coarray"]["state"]
    assert state == "fresh"


@pytest.mark.parametrize("shared", ["false", "true"])
def test_what_one_image_gives_up_is_given_up_by_all(run, kept, shared):
    """They end together, whatever each of them found out alone, and the next run begins anew."""
    for _ in range(2):
        outcome = passed(run("coarray_uneven", 3, PCAF_SHAREDFILE=shared))
        assert "'lone' is not kept" in outcome.err, outcome.text()
        assert {path.name.split(".")[0] for path in kept.iterdir()} == {"OpenCoarrays_whole"}


def test_images_with_other_variables_are_refused(mpi, run, kept):
    rank = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    script = f"if [ {rank} = 1 ]; then export PCAF_ENABLED=false; fi; exec {program(mpi, 'coarray_types')} fill"
    refused(run([Path("/bin/sh"), "-c", script], 2), "image 2 has other PCAF_ variables than image 1")


def test_a_full_disk_is_told_when_the_coarray_is_allocated(run, kept):
    """60000 bytes are 15 pages: there is room for all but one of them, or for them but not for the sidecar."""
    disks.need_root("mount")
    for room in (14, 15):
        with disks.tmpfs(kept, disks.MIB):
            (kept / "filler").write_bytes(bytes(disks.MIB - room * mmap.PAGESIZE))
            refused(run(["coarray_part", "stop"], 3, PCAF_SHAREDFILE="true"), "'shared':", "No space left")
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
    for shared, files in (("true", "i8*"), ("false", "i8.*")):
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


def test_bad_variables_are_refused(run):
    refused(run("coarray_access", 2, PCAF_SYNCFREQ="-1"), "PCAF_SYNCFREQ=-1: expected a whole number")
    refused(run("coarray_access", 2, PCAF_ENABLED="yes"), "PCAF_ENABLED=yes: expected true or false")
    refused(run("coarray_access", 2, PCAF_PATH="/no/such/folder"), "/no/such/folder")


def test_hints_for_the_windows_of_coarrays(run, kept):
    sparse = {"PCAF_WINDOW": "storage_alloc_reserve=sparse,file_perm=0640"}
    passed(run(["coarray_types", "fill"], 2, **sparse))
    passed(run(["coarray_types", "check"], 2, **sparse))
    file = kept / "OpenCoarrays_coarrays_of_all_types.a1.1"
    assert file.stat().st_mode & 0o777 == 0o640
    half = {"PCAF_WINDOW": "storage_alloc_factor=0.5"}
    refused(run(["coarray_types", "fill"], 2, **half), "storage_alloc_factor would lose a part")
    passed(run(["coarray_types", "check"], 2))
    refused(
        run(["coarray_types", "fill"], 2, PCAF_WINDOW="storage_alloc_unlink=true"), "PCAF_WINDOW=", "_unlink is not"
    )


def test_coarrays_partly_in_memory(run, kept):
    half = {"PCAF_WINDOW": "storage_alloc_factor=0.5", "PCAF_PREFIX": "half_"}
    outcome = passed(run("coarray_access", 3, **half))
    assert outcome.err.count("none comes back in the next run") == 1
    passed(run(["coarray_types", "fill"], 2, **half))
    states = [file.coarray.state for file in sidecar.window_files(kept)]
    assert states
    assert set(states) == {"fresh"}
    passed(run(["coarray_types", "fill"], 2, **half))


def test_a_variable_that_is_none_is_told(run, kept):
    outcome = passed(run(["coarray_types", "fill"], 2, PCAF_SYNCFRQ="5", PCAF_STRIPEIZE="65536"))
    assert outcome.err.count("there is no such variable") == 1
    assert "PCAF_SYNCFRQ: there is no such variable; is PCAF_SYNCFREQ meant?" in outcome.err


def test_a_folder_of_each_node(mpi, run, kept):
    """Images on nodes of two names: each has its files in the folder of its own."""
    disks.need_root("unshare")
    for name in ("host0", "host1"):
        (kept / f"test-{name}").mkdir()
    rank = "host${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    for mode in ("fill", "check"):
        script = f"exec unshare -u sh -c 'hostname $0; exec {program(mpi, 'coarray_types')} {mode}' {rank}"
        passed(run([Path("/bin/sh"), "-c", script], 2, PCAF_PATH=f"{kept}/%j-%h"))
    for image in (1, 2):
        assert (kept / f"test-host{image - 1}" / f"OpenCoarrays_of_program.{image}").exists()


def test_windows_rules_leave_the_runtime_alone(run, kept, scratch):
    rule = f"alloc_type=storage,storage_alloc_filename={scratch}/w%w.%r"
    passed(run("coarray_teams", 2, keep=False, SILL_WINDOWS=rule))
    assert not list(scratch.glob("w*"))


def test_sill_run_preloads_what_coarrays_need(mpi, kept):
    words = [sys.executable, "-m", "sill", "run", "--mpiexec", " ".join([mpi.mpiexec, *mpi.oversubscribe])]
    environment = {
        **os.environ,
        **mpi.root_env,
        "PYTHONPATH": str(ROOT / "python"),
        "SILL_LIBRARY_DIR": str(BUILD / "lib"),
        "PCAF_ENABLED": "true",
        "PCAF_PATH": str(kept),
    }
    command = [*words, "-n", "2", "--", str(program(mpi, "coarray_types")), "fill"]
    subprocess.run(command, env=environment, check=True, timeout=TIMEOUT_S)
    shown = subprocess.run(
        [*words[:3], "show", str(kept / "OpenCoarrays_of_program.2")],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "of_program" in shown
    assert "2 of 2" in shown


def test_opencoarrays_linked_statically_is_said_plainly(mpi, run, kept, tmp_path):
    wrapper = shutil.which({"ompi": "caf.openmpi", "mpich": "caf.mpich"}[mpi.family])
    if wrapper is None:
        pytest.skip("no caf wrapper")
    binary = tmp_path / "linked_statically"
    subprocess.run([wrapper, ROOT / "tests/coarray/coarray_teams.f90", "-o", binary], check=True, cwd=tmp_path)
    assert elf.coarrays(binary) == "static"
    refused(run([binary], 2), "OpenCoarrays is linked statically")
    passed(run([binary], 2, keep=False))


def wait_for_steps(job, log, images, least) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while min(noted_steps(log, images)) < least:
        assert time.monotonic() < deadline, f"the images have noted {noted_steps(log, images)}, not all {least}"
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.process.wait(timeout=PAUSE_S)
            raise AssertionError(job.finish(10).text())


def noted_steps(log, images) -> list[int]:
    """The last whole line of each image's notes."""
    last = []
    for image in range(1, images + 1):
        path = log.with_name(f"{log.name}.{image}")
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        last.append(int(lines[-1]) if lines else 0)
    return last


def check_steps(kept, done, images) -> None:
    """Each element is of the last step that a completed sync covered, or of the one begun behind it."""
    for image in range(1, images + 1):
        for name in ("mine", "from_neighbour"):
            path = kept / f"OpenCoarrays_steps_of_all.{name}.{image}"
            with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                values = set(struct.unpack(f"={len(data) // 4}i", data))
            assert values <= set(range(max(done), max(done) + 3)), f"{path}: {values}, noted {done}"
        state = json.loads((kept / f"OpenCoarrays_steps_of_all.mine.{image}.sill").read_text())["coarray"]["state"]
        assert state == "kept"


@pytest.mark.parametrize("by", ["all", "images"])
def test_kill(mpi, caf, launcher, scratch, kept, by):
    """kill -9 of an image: what the last completed sync covered is in the files; the next run goes on from there."""
    images = 3
    log = scratch / "log"
    chance = random.Random(f"{mpi.name} {by}")
    env = {"PCAF_ENABLED": "true", "PCAF_PATH": str(kept)}
    options = {"sill": False, "behind": [caf], "env": env}
    words = ["coarray_steps", log, "1000000000", *(["images"] if by == "images" else [])]
    for _ in range(max(1, KILLS // (2 * len(HAVE_COARRAYS)))):
        with launcher.start(mpi, words, images, **options) as job:
            wait_for_steps(job, log, images, max(noted_steps(log, images)) + chance.randint(1, 5))
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.process.wait(timeout=chance.uniform(0, 0.05))
            pids = job.pids("coarray_steps")
            assert len(pids) == images, f"processes of the job: {pids}"
            os.kill(chance.choice(pids), signal.SIGKILL)
            outcome = job.finish(60)
            assert outcome.code not in (0, None), outcome.text()
        check_steps(kept, noted_steps(log, images), images)
    last = max(noted_steps(log, images)) + 3
    words[2] = str(last)
    outcome = launcher.run(mpi, words, images, **options)
    assert outcome.code == 0, outcome.text()
    check_steps(kept, noted_steps(log, images), images)


def test_sync_interval(run, kept, scratch):
    """With an interval that never passes, only the end of the program syncs; images can't disagree or hang."""
    words = ["coarray_steps", scratch / "log", "200", "images"]
    passed(run(words, 3, PCAF_SYNCFREQ="3600000"))
    passed(run([*words[:2], "400"], 3, PCAF_SYNCFREQ="1"))
    assert noted_steps(scratch / "log", 3) == [400] * 3


# What each app is asked for, its option for how long, and its coarrays: the note of what is done, and both states.
APPS = {
    "stencil": (["--rows", "60", "--columns", "50"], "--steps", "plate.done", "plate.heat"),
    "transpose": (["--order", "96"], "--rounds", "matrices.done", "matrices.b"),
}


@pytest.mark.parametrize("app", APPS)
def test_an_app_goes_on_after_a_kill(mpi, caf, launcher, scratch, kept, app):
    """An image is killed at any moment. The next run ends as one that nobody stopped, byte for byte."""
    images = 3
    words, option, note, state = APPS[app]

    def at(folder, name, image):
        return folder / f"OpenCoarrays_{name}.{image}"

    def done():
        notes = [at(kept, note, image) for image in range(1, images + 1)]
        bytes_of = [path.read_bytes() if path.exists() else b"" for path in notes]
        return [struct.unpack("=q", note)[0] if note else -1 for note in bytes_of]  # empty: not made long enough yet

    def options(folder):
        return {"sill": False, "behind": [caf], "env": {"PCAF_ENABLED": "true", "PCAF_PATH": str(folder)}}

    words = [f"sill-caf-{app}", *words, option]
    with launcher.start(mpi, [*words, "1000000000"], images, **options(kept)) as job:
        deadline = time.monotonic() + TIMEOUT_S
        while min(done()) < 3:
            assert time.monotonic() < deadline, f"done: {done()}"
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.process.wait(timeout=PAUSE_S)
                raise AssertionError(job.finish(10).text())
        os.kill(random.choice(job.pids(f"sill-caf-{app}")), signal.SIGKILL)
        assert job.finish(60).code not in (0, None)
    # As far apart as images can be: the second one notes the next step, of which nothing is right yet.
    least, last = min(done()), max(done()) + 4
    at(kept, note, 1).write_bytes(struct.pack("=q", least))
    at(kept, note, 2).write_bytes(struct.pack("=q", least + 1))
    half = at(kept, state, 2).stat().st_size // 2
    with open(at(kept, state, 2), "r+b") as file:
        file.seek((least + 1) % 2 * half)
        file.write(struct.pack("=d", float("nan")) * (half // 8))
    outcome = passed(launcher.run(mpi, [*words, str(last)], images, **options(kept)))
    assert "checked, right" in outcome.out
    whole = scratch / "whole"
    whole.mkdir()
    passed(launcher.run(mpi, [*words, str(last)], images, **options(whole)))
    for image in range(1, images + 1):
        assert at(kept, state, image).read_bytes() == at(whole, state, image).read_bytes()
