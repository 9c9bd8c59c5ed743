"""Start MPI programs the way all tests do: known surroundings, a hard time limit, nothing left running."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SILL_BUILD", ROOT / "build")).absolute()
sys.path.insert(0, str(ROOT / "python"))

from nodes import Nodes  # noqa: E402
from sill.mpi import mpis  # noqa: E402

TIMEOUT_S = 120
SKIPPED = 77
PAUSE_S = 0.01  # between two looks at something that others will change
SHARED_MEMORY = Path("/dev/shm")
SHARED_MEMORY_NAMES = ("mpich_sh*", "sm_segment*", "vader_segment*", "osc_*")  # of MPICH, Open MPI 5 and 4
MPIS = [mpi for mpi in mpis.find() if mpi.mpiexec]
ABORTED = re.compile(r"^Abort\((\d+)\) on node", re.M)  # MPICH says so
KILLS_ITSELF = '{"event": "kill", '  # and this a rank of sill-mapreduce
# MPICH 4.2.1, without Sill: 148 of 800 runs of a program in which rank 1 is killed ended with 0, and 78 of 240 in which
# it aborts MPI_COMM_SELF, or an error is fatal; none of 800 in which it aborts MPI_COMM_WORLD. 4.1 began it, 4.2.3
# ends it.
LOSES_CODES = "mpich 4.1-4.2.2"


def is_one_of(mpi: mpis.Mpi, which: str) -> bool:
    """Whether an MPI is of that kind (ompi4), or of an implementation and these versions: `mpich 4.0` (any 4.0),
    `ompi 5.0.3-5.0` (from 5.0.3 to the last 5.0)."""
    name, _, versions = which.partition(" ")
    if not versions:
        return mpi.kind == name
    first, _, last = versions.partition("-")
    low, high = (tuple(map(int, text.split("."))) for text in (first, last or first))
    return (
        re.match("[a-z]+", mpi.kind)[0] == name and low <= mpi.version_tuple and mpi.version_tuple[: len(high)] <= high
    )


def first_of(which: str) -> mpis.Mpi | None:
    """The first MPI of this machine that is one of these."""
    return next((mpi for mpi in MPIS if is_one_of(mpi, which)), None)


def abilities(mpi: mpis.Mpi) -> set[str]:
    """What the variants of programs.toml ask for."""
    if not mpi.kind.startswith("mpich"):
        return set()
    # A variable splits a node in two; MPICH 4 leaves a node's windows to direct copies, and can't be native on several.
    return {"cliques", "native_nodes" if mpi.version_tuple >= (5,) else "direct_on_a_node"}


# For what doesn't depend on the MPI: the quickest to start; and one of each implementation.
QUICKEST = first_of("mpich5") or next(iter(MPIS), None)
ONE_OF_EACH = [mpi for mpi in (QUICKEST, first_of("ompi4") or first_of("ompi5")) if mpi]


@dataclass(frozen=True)
class Outcome:
    """A finished job. `code` is the launcher's; None when the time limit ended the job."""

    code: int | None
    out: str
    err: str
    seconds: float
    command: str

    def text(self) -> str:
        ended = "ran into the time limit" if self.code is None else f"ended with {self.code}"
        return f"{self.command}\n{ended} after {self.seconds:.1f} s\n{self.out[-6000:]}\n{self.err[-6000:]}"

    def skip_reason(self) -> str:
        lines = [line for line in self.out.splitlines() if line.startswith("skip: ")]
        return lines[-1][6:] if lines else "the program gives no reason"


def check_ended_by_access(outcome: Outcome, handler: str, lines: list[str], word: str) -> None:
    """How a program of tests/mpi/handlers.h comes out of an access that fails. `lines`: what Sill says of it."""
    if handler == "jumps":
        assert outcome.code == 0, outcome.text()
        assert outcome.out.splitlines() == ["own handler", "went on"]
        assert not lines, outcome.text()
        return
    assert outcome.code not in (0, None, SKIPPED), outcome.text()
    assert len(lines) == 1, outcome.text()
    assert "window" in lines[0], lines[0]
    assert word in lines[0], lines[0]
    assert outcome.out.count("own handler") == (1 if handler == "returns" else 0), outcome.text()


def library(mpi: mpis.Mpi) -> Path:
    """The libsill of an MPI's family; missing is a failure of the build."""
    path = BUILD / "lib" / f"libsill-{mpi.family}.so"
    assert path.exists(), f"{path} is missing: run make"
    return path


def program(mpi: mpis.Mpi, name: str) -> Path:
    path = BUILD / "bin" / mpi.name / name
    assert path.exists(), f"{path} is missing: run make"
    return path


def patience(mpi: mpis.Mpi) -> list[Path]:
    """What is preloaded so that waiting ranks leave the core to others; Open MPI is told by `surroundings`."""
    if mpi.family == "ompi":
        return []
    path = BUILD / "lib" / "libsill-test-yield.so"
    assert path.exists(), f"{path} is missing: run make"
    return [path]


def surroundings(mpi: mpis.Mpi, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a job: no rules of the developer's, and what the MPI wants as root."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("SILL_", "MPI4PY_")) and k not in ("LD_PRELOAD", "TMPDIR")
    }
    kept["XDG_CONFIG_HOME"] = "/dev/null/none"  # nor a sill.toml of theirs
    kept["OMPI_MCA_mpi_yield_when_idle"] = "1"  # several jobs share the cores
    if os.geteuid() == 0:
        kept.update(mpi.root_env)
    return {**kept, **extra}


def command_line(
    mpi: mpis.Mpi,
    ranks: int,
    words: Sequence[str | Path],
    preload: Sequence[Path],
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> list[str]:
    # env sets the libraries for the program alone, not for the launcher.
    libraries = {"LD_PRELOAD": ":".join(map(str, preload))} if preload else {}
    settings = [f"{name}={value}" for name, value in {**(env or {}), **libraries}.items()]
    before = ["env", *settings] if settings else []
    return [str(w) for w in [mpi.mpiexec, *mpi.oversubscribe, *options, "-n", ranks, *before, *words]]


def shared_memory() -> set[Path]:
    """The files of MPI libraries in shared memory, by their names."""
    return {path for pattern in SHARED_MEMORY_NAMES for path in SHARED_MEMORY.glob(pattern)}


def in_use() -> set[str]:
    """The files in shared memory that a process has open or mapped."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            # Descriptors first: who makes a file has it open until it is mapped.
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    found.add(os.readlink(descriptor))
            found.update(line.split(None, 5)[5] for line in (process / "maps").read_text().splitlines() if "/" in line)
    return found


def remove_shared_memory(candidates: set[Path]) -> None:
    """Remove those of them that nobody uses. Listed before use is looked at, a file of another job is never among
    them: it is open or mapped as long as a process will come and look for it."""
    used = in_use() if candidates else set()
    for path in candidates:
        if str(path) not in used:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                path.unlink()


def describe(pid: int) -> str:
    """What a process is doing: its state, its command line, and where each thread of it waits."""
    folder, lines = Path("/proc") / str(pid), []
    with contextlib.suppress(OSError):  # it ends meanwhile
        state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        lines.append(
            f"{pid} {state} " + (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
        for thread in sorted((folder / "task").iterdir()):
            name, wait, call = ((thread / part).read_text().strip() for part in ("comm", "wchan", "syscall"))
            lines.append(f"  {name}: {wait}, system call {call}")
    return "\n".join(lines)


class Job:
    """A running job. Ends with its context: whatever of it is still there is killed, and its temporary files removed.

    So is what it left in shared memory: killed ranks leave gigabytes, and Open MPI and Sill look at what is free there.
    A folder for temporary files of its own: Open MPI 5 names its after the launcher's process id, and refuses to start
    where a killed launcher of the same id has left some.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], prefix: Sequence[str] = (), **popen) -> None:
        # Every process of the job inherits the mark, also those that a launcher puts into sessions of their own.
        token = uuid.uuid4().hex
        self.mark = f"SILL_TEST_JOB={token}"
        self.command = [*prefix, *command]
        self.temporary = tempfile.TemporaryDirectory(prefix="sill-", ignore_cleanup_errors=True)
        self.shared_memory_before = shared_memory()
        self.rank_killed = False
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env={"TMPDIR": self.temporary.name, **env, "SILL_TEST_JOB": token},
            stdin=popen.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
            **popen,
        )

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_) -> None:
        self.kill()
        self.process.communicate()
        self.temporary.cleanup()
        remove_shared_memory(shared_memory() - self.shared_memory_before)

    @contextlib.contextmanager
    def limited(self, timeout: float = TIMEOUT_S) -> Iterator[None]:
        """Kill the job if what is done here takes longer: reading what it writes ends then."""
        timer = threading.Timer(timeout, self.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def pids(self, name: str = "") -> list[int]:
        """Processes of this job; only those that run a program of that name, if one is given."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    if not name or os.path.basename(words[0]) == name.encode():
                        found.append(int(folder.name))
        return found

    def kill(self) -> None:
        """End every process of the job, and see them gone: their files may lie on what is unmounted next."""
        deadline = time.monotonic() + TIMEOUT_S
        while pids := self.pids():
            assert time.monotonic() < deadline, f"{self.command}: processes {pids} don't end when they are killed"
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()
            threading.Event().wait(PAUSE_S)

    def kill_rank(self, pid: int) -> None:
        """End a rank that would go on, so that the job can't end well."""
        os.kill(pid, signal.SIGKILL)
        self.rank_killed = True

    def lost_code(self, out: str, err: str) -> int:
        """What the launcher owes that ended with 0: the code of a rank that is known to have aborted or been killed."""
        if not any(mpi.mpiexec in self.command for mpi in MPIS if is_one_of(mpi, LOSES_CODES)):
            return 0
        if aborted := ABORTED.search(err):
            return int(aborted[1]) % 256
        return signal.SIGKILL if self.rank_killed or KILLS_ITSELF in out else 0

    def lost_abort(self, err: str, processes: int) -> bool:
        """Whether a rank has aborted and gone, and the launcher takes no notice: so MPICH 5.0.2 did in 3 of 8,000 runs
        of a program in which rank 1 aborts and rank 0 waits in a barrier, without Sill."""
        if "-n" not in self.command or not ABORTED.search(err):
            return False
        ranks = int(self.command[self.command.index("-n") + 1])
        return processes < ranks + 2  # mpiexec and its proxy

    def finish(self, timeout: float = TIMEOUT_S, text: str | None = None) -> Outcome:
        """Wait until the job is over or the time is up. `text`: for its standard input, if that is a pipe."""
        code: int | None
        try:
            out, err = self.process.communicate(text, timeout=timeout)
            code = self.process.returncode or self.lost_code(out, err)
        except subprocess.TimeoutExpired:
            pids = self.pids()
            left = "".join(f"{describe(pid)}\n" for pid in pids)
            self.kill()
            out, err = self.process.communicate()
            code = -signal.SIGKILL if self.lost_abort(err, len(pids)) else None
            err += f"\nstill there:\n{left}"
        return Outcome(code, out, err, time.monotonic() - self.started, " ".join(self.command))


@dataclass(frozen=True)
class Launcher:
    """Starts jobs in one scratch folder, which programs know as SILL_TEST_DIR; on `nodes`, if there are some."""

    scratch: Path
    nodes: Nodes | None = None

    def start(
        self,
        mpi: mpis.Mpi,
        words: str | Sequence[str | Path],
        ranks: int,
        *,
        env: Mapping[str, str] | None = None,
        sill: bool = True,
        linked: bool = False,
        before: Sequence[Path] = (),
        behind: Sequence[Path] = (),
        prefix: Sequence[str] = (),
        **popen,
    ) -> Job:
        """Start a program (its name in build/bin/MPI, or a whole command) with Sill preloaded.

        `sill=False`: without Sill. `linked`: the program brings Sill itself. `before`, `behind`: other libraries to
        preload, before Sill and behind it. `prefix`: words before the launcher.
        """
        words = [words] if isinstance(words, str) else list(words)
        if isinstance(words[0], str) and "/" not in words[0]:
            words[0] = program(mpi, words[0])
        extra = {"SILL_TEST_DIR": str(self.scratch), "SILL_JOB_ID": "test", **(env or {})}
        if sill:
            extra["SILL_TEST_ACTIVE"] = "1"
        preload = [*before, *([library(mpi)] if sill and not linked else []), *behind, *patience(mpi)]
        if self.nodes:
            # Launchers pass on none of the variables, or only their own. The last is for yield.c.
            variables = {**extra, "SILL_TEST_NODES": "1"}
            command = command_line(mpi, ranks, words, preload, self.nodes.options(mpi, ranks), variables)
            return Job(command, surroundings(mpi, {"TMPDIR": "/tmp"}), [*self.nodes.inside(0), *prefix], **popen)
        command = command_line(mpi, ranks, words, preload)
        return Job(command, surroundings(mpi, extra), prefix, **popen)

    def run(self, *arguments, timeout: float = TIMEOUT_S, text: str | None = None, **options) -> Outcome:
        """Start and finish, with `text` on standard input."""
        if text is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as job:
            return job.finish(timeout, text)
