"""`sill topo`: what lies under directories, and who shares it, under every launcher."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys

import disks
import pytest
from bench_support import executable
from command_support import BUILD, EVERY_MPI, MPIS, SAYING_LAUNCHER, launcher, run_job
from sill import native
from sill.mpi import launchers, mpis
from sill.output import print_table
from sill.topo import Cost, Directory, Group, Node, Topology, view

ONE_OF_EACH_FAMILY = pytest.mark.parametrize(
    "mpi", {mpi.family: mpi for mpi in reversed(MPIS)}.values(), ids=lambda mpi: mpi.name
)
# `shown` is another folder for the second half of the ranks.
WRAPPER = """#!/bin/sh
rank=${PMI_RANK:-$OMPI_COMM_WORLD_RANK}
exec unshare -m --propagation private sh -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' \\
  sh SCRATCH/store$((rank / 2)) SCRATCH/shown "$@"
"""


@pytest.fixture
def topo(sill):
    """`sill topo` with the libraries of the build folder, without a launcher."""
    return lambda *arguments: sill("topo", *arguments, env={"SILL_LIBRARY_DIR": str(BUILD / "lib")})


@pytest.fixture
def topo_ranks(harness_environment):
    """A command line in which ranks ask, whoever starts them."""

    def run(*words):
        environment = {**harness_environment, "SILL_LIBRARY_DIR": str(BUILD / "lib")}
        return run_job([str(word) for word in words], environment)

    return run


def store(**more) -> native.Store:
    known = {
        "file_system": "xfs", "source": "/dev/nvme0n1", "mount_point": "/s", "device": "nvme0n1", "identity": "uuid:1",
        "capacity_bytes": 2 << 40, "available_bytes": 1 << 40, "block_bytes": 4096, "medium": "solid state",
        "shared": False, "served": False, "read_only": False, "dax": None, "reflink": True, "direct_io": True,
    }  # fmt: skip
    return native.Store(**{**known, **more})


def cluster() -> Topology:
    """Three nodes with two ranks each: a common store, and a near one that the last node lacks."""
    nodes = [Node(f"n{i}", [2 * i, 2 * i + 1]) for i in range(3)]
    common = Group(
        "/home", store(file_system="nfs4", source="srv:/home", device="", medium=None, shared=True), False, nodes
    )
    near = [Group(f"/near/n{i}", store(identity=f"uuid:{i}"), i == 1, [nodes[i]]) for i in range(2)]
    cost = Cost("auto", 1, 3, 1, 0.0042)
    return Topology(
        6, ["n0", "n1", "n2"], [Directory("/home", [common], [], cost), Directory("/near/%h", near, [4, 5], cost)]
    )


def machine() -> Topology:
    """One machine, no ranks."""
    return Topology(0, ["vm"], [Directory("/x", [Group("/x", store(), False, [Node("vm", [])])], [])])


def lines_of(table, capsys) -> list[str]:
    print_table(table, piped=True)
    return capsys.readouterr().out.splitlines()


def test_without_a_launcher_this_machine_is_described(topo, tmp_path):
    space = os.statvfs(tmp_path)
    found = json.loads(topo("--json", tmp_path, "/proc").stdout)
    assert (found["ranks"], found["nodes"]) == (0, [socket.gethostname()])
    first, second = (directory["groups"][0]["store"] for directory in found["directories"])
    assert first["capacity_bytes"] == space.f_blocks * space.f_frsize
    assert first["identity"]
    assert second["file_system"] == "proc"
    result = topo(tmp_path, "/proc")
    assert result.returncode == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[2:]] == ["directory", str(tmp_path), "/proc"]


def test_a_missing_directory_is_one_line_that_names_it(topo):
    result = topo("/no/such/place")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "/no/such/place: No such file or directory" in result.stderr


def test_a_method_is_for_ranks(topo, tmp_path):
    result = topo("--method", "auto", tmp_path)
    assert result.returncode == 1
    assert "-n" in result.stderr


def test_what_a_launcher_prints_and_returns_is_the_commands(topo, tmp_path):
    result = topo("-n", 2, "--mpiexec", executable(tmp_path / "launch", SAYING_LAUNCHER), tmp_path)
    assert result.returncode == 3
    assert result.stdout.startswith("HYDRA -n 2 env ")


@pytest.mark.parametrize("place", ["/nope/x.png", "FOLDER"])
def test_a_picture_that_cannot_be_written_is_said_before_ranks_start(place, topo, tmp_path):
    start = ["-n", 2, "--mpiexec", executable(tmp_path / "launch", SAYING_LAUNCHER)]
    result = topo(*start, "--draw", tmp_path if place == "FOLDER" else place, tmp_path)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert "--draw" in result.stderr


def test_the_table_has_a_line_for_each_store(capsys):
    lines = lines_of(view.store_table(cluster()), capsys)
    assert [" ".join(line.split()) for line in lines[1:]] == [
        "/home nfs4 srv:/home shared 1.0 TiB 2.0 TiB 3 0-5",
        "/near/n0 xfs nvme0n1 (solid state) local 1.0 TiB 2.0 TiB 1 0-1",
        "/near/n1 xfs nvme0n1 (solid state) local 1.0 TiB 2.0 TiB 1 2-3 by identity: can't be probed",
        "/near/%h - - - - - - 4-5 not there",
    ]


def test_the_tree_goes_from_store_to_node_to_ranks():
    assert list(view.tree(cluster())) == [
        "/home",
        "└─ nfs4 on srv:/home, 1.0 TiB free",
        "   ├─ n0: ranks 0-1",
        "   ├─ n1: ranks 2-3",
        "   └─ n2: ranks 4-5",
        "/near/%h",
        "├─ xfs on nvme0n1 (solid state), 1.0 TiB free",
        "│  └─ n0: ranks 0-1",
        "├─ xfs on nvme0n1 (solid state), 1.0 TiB free",
        "│  └─ n1: ranks 2-3",
        "└─ not there: ranks 4-5",
    ]


def test_what_lies_in_memory_is_said_to():
    group = Group("/dev/shm", store(file_system="tmpfs", device="", medium="memory"), False, [Node("n0", [0])])
    lines = list(view.tree(Topology(1, ["n0"], [Directory("/dev/shm", [group], [])])))
    assert lines[1:] == ["└─ tmpfs in memory, 1.0 TiB free", "   └─ n0: rank 0"]


def test_a_long_tree_is_cut_and_says_so():
    nodes = [Node(f"n{i}", [i]) for i in range(1000)]
    found = Topology(1000, [n.name for n in nodes], [Directory("/x", [Group("/x", store(), False, nodes)], [])])
    lines = list(view.tree(found))
    assert len(lines) < 30
    assert lines[-1].endswith("and 981 nodes more: --json has all")


def test_the_costs_are_shown(capsys):
    lines = lines_of(view.cost_table(cluster()), capsys)
    assert lines[1].split() == ["/home", "auto", "1", "3", "1", "4.20", "ms"]


@pytest.mark.parametrize("found", [cluster(), machine()], ids=["cluster", "machine"])
def test_a_picture_is_drawn(found, tmp_path):
    pytest.importorskip("matplotlib")
    view.draw(found, str(tmp_path / "who.png"))
    assert (tmp_path / "who.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_an_unknown_kind_is_refused(topo, tmp_path):
    pytest.importorskip("matplotlib")
    result = topo("--draw", tmp_path / "who.text", tmp_path)
    assert result.returncode == 1
    assert ".png" in result.stderr


def test_ranks_are_known_by_what_launchers_leave():
    assert not launchers.is_rank({"HOME": "/", "SLURM_PROCID": "0"})  # a batch script has that one, too
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE"):
        assert launchers.is_rank({name: "0"})


# Below srun, where no compiler wrapper tells of an installation and only one of Sill's libraries is there.
COMMAND_OF_A_RANK = """
from sill.mpi import launchers
from sill.topo import ranks
launchers.known_with = lambda launcher: []
print(*ranks.command(["/"], None, None), sep="\\n")
"""


@pytest.fixture
def command_of_a_rank(harness_environment, stand_ins, tmp_path):
    (tmp_path / "sill").mkdir()
    (tmp_path / "sill" / "libsill-mpiabi.so").symlink_to(stand_ins / "libsill-mpiabi.so")
    there = {"SILL_LIBRARY_DIR": str(tmp_path / "sill"), "LD_LIBRARY_PATH": str(tmp_path), "PMIX_RANK": "0"}
    return lambda: run_job([sys.executable, "-c", COMMAND_OF_A_RANK], {**harness_environment, **there})


@pytest.mark.parametrize("name", [name for name, family in mpis.SONAMES.items() if family == "mpiabi"])
def test_without_an_installation_the_loader_finds_the_library(name, command_of_a_rank, stand_ins, tmp_path):
    (tmp_path / name).symlink_to(stand_ins / "libsill-mpiabi.so")
    done = command_of_a_rank()
    assert done.returncode == 0, done.stderr
    assert f"LD_PRELOAD={tmp_path}/sill/libsill-mpiabi.so:{name}" in done.stdout.splitlines()


def test_a_library_that_the_loader_does_not_find_is_said(command_of_a_rank):
    done = command_of_a_rank()
    assert done.returncode != 0
    assert done.stdout == ""
    assert "the loader finds no libmpi_abi.so.0 or libmpi_abi.so.1: load the MPI's module" in done.stderr


@EVERY_MPI
def test_ranks_ask_below_a_launcher(mpi, topo_ranks, tmp_path):
    """As `mpiexec -n 3 sill topo`: the ranks find their own MPI, and one of them shows what all found."""
    command = [*shlex.split(launcher(mpi)), "-n", "3", sys.executable, "-m", "sill", "topo"]
    result = topo_ranks(*command, "--json", tmp_path, tmp_path / "missing")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["ranks"] == 3
    there, missing = found["directories"]
    (group,) = there["groups"]
    assert group["nodes"] == [{"name": socket.gethostname(), "ranks": [0, 1, 2]}]
    assert group["path"] == str(tmp_path)
    assert (missing["groups"], missing["without"]) == ([], [0, 1, 2])
    assert there["cost"]["method"] == "auto"
    assert list(tmp_path.iterdir()) == []


@ONE_OF_EACH_FAMILY
def test_ranks_in_different_mount_namespaces_are_told_apart(mpi, topo_ranks, scratch):
    disks.need_root("mount", "unshare")
    for name in ("store0", "store1", "shown"):
        (scratch / name).mkdir()
    wrapper = scratch / "wrapper"
    wrapper.write_text(WRAPPER.replace("SCRATCH", str(scratch)))
    wrapper.chmod(0o755)
    command = [sys.executable, "-m", "sill", "topo", "--mpiexec", f"{launcher(mpi)} -n 4 {wrapper}"]
    result = topo_ranks(*command, scratch / "shown", scratch)
    assert result.returncode == 0, result.stderr
    host = socket.gethostname()
    tree = [line for line in result.stdout.splitlines() if host in line or line.startswith(str(scratch))]
    assert [line.split("─ ")[-1] for line in tree if host in line] == [
        f"{host}: ranks 0-1",
        f"{host}: ranks 2-3",
        f"{host}: ranks 0-3",
    ]
    for name in ("store0", "store1", "shown"):
        assert list((scratch / name).iterdir()) == []


def test_an_error_of_the_ranks_is_one_line(topo_ranks, tmp_path):
    command = [sys.executable, "-m", "sill", "topo", "--mpiexec", launcher(MPIS[0]), "-n", "2"]
    result = topo_ranks(*command, "--method", "guess", tmp_path)
    assert result.returncode != 0
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("sill: ")]
    assert "nbhd_method=guess" in line
    assert result.stdout == ""
