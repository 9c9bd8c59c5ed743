"""Start MPI programs the way all tests do: known surroundings, a hard time limit, nothing left running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SILL_BUILD", ROOT / "build")).absolute()
sys.path.insert(0, str(ROOT / "python"))

from sill import mpis  # noqa: E402

TIMEOUT_S = 120
SKIPPED = 77
MPIS = [mpi for mpi in mpis.find() if mpi.mpiexec]


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


def library(mpi: mpis.Mpi) -> Path:
    """The libsill of an MPI's family; missing is a failure of the build."""
    path = BUILD / "lib" / f"libsill-{mpi.family}.so"
    assert path.exists(), f"{path} is missing: run make"
    return path


def program(mpi: mpis.Mpi, name: str) -> Path:
    path = BUILD / "bin" / mpi.name / name
    assert path.exists(), f"{path} is missing: run make"
    return path


def surroundings(mpi: mpis.Mpi, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a job: no rules of the developer's, and what the MPI wants as root."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("SILL_", "MPI4PY_")) and k not in ("LD_PRELOAD", "TMPDIR")
    }
    kept["XDG_CONFIG_HOME"] = "/nonexistent"  # nor a sill.toml of theirs
    if os.geteuid() == 0:
        kept.update(mpi.root_env)
    return {**kept, **extra}


def command_line(mpi: mpis.Mpi, ranks: int, words: Sequence[str | Path], preload: Path | None) -> list[str]:
    # env sets the library for the program alone, not for the launcher.
    before = ["env", f"LD_PRELOAD={preload}"] if preload else []
    return [str(w) for w in [mpi.mpiexec, *mpi.oversubscribe, "-n", ranks, *before, *words]]


class Job:
    """A running job. Ends with its context: whatever of it is still there is killed, and its temporary files removed.

    A folder for temporary files of its own: Open MPI 5 names its after the launcher's process id, and refuses to start
    where a killed launcher of the same id has left some.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], prefix: Sequence[str] = (), **popen) -> None:
        # Every process of the job inherits the mark, also those that a launcher puts into sessions of their own.
        token = uuid.uuid4().hex
        self.mark = f"SILL_TEST_JOB={token}"
        self.command = [*prefix, *command]
        self.temporary = tempfile.TemporaryDirectory(prefix="sill-", ignore_cleanup_errors=True)
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
        while pids := self.pids():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.poll()

    def finish(self, timeout: float = TIMEOUT_S, text: str | None = None) -> Outcome:
        """Wait until the job is over or the time is up. `text`: for its standard input, if that is a pipe."""
        code: int | None
        try:
            out, err = self.process.communicate(text, timeout=timeout)
            code = self.process.returncode
        except subprocess.TimeoutExpired:
            self.kill()
            out, err = self.process.communicate()
            code = None
        return Outcome(code, out, err, time.monotonic() - self.started, " ".join(self.command))


@dataclass(frozen=True)
class Launcher:
    """Starts jobs in one scratch folder, which programs know as SILL_TEST_DIR."""

    scratch: Path

    def start(
        self,
        mpi: mpis.Mpi,
        words: str | Sequence[str | Path],
        ranks: int,
        *,
        env: Mapping[str, str] | None = None,
        sill: bool = True,
        linked: bool = False,
        prefix: Sequence[str] = (),
        **popen,
    ) -> Job:
        """Start a program (its name in build/bin/MPI, or a whole command) with Sill preloaded.

        `sill=False`: without Sill. `linked`: the program brings Sill itself. `prefix`: words before the launcher.
        """
        words = [words] if isinstance(words, str) else list(words)
        if isinstance(words[0], str) and "/" not in words[0]:
            words[0] = program(mpi, words[0])
        extra = {"SILL_TEST_DIR": str(self.scratch), "SILL_JOB_ID": "test", **(env or {})}
        if sill:
            extra["SILL_TEST_ACTIVE"] = "1"
        command = command_line(mpi, ranks, words, library(mpi) if sill and not linked else None)
        return Job(command, surroundings(mpi, extra), prefix, **popen)

    def run(self, *arguments, timeout: float = TIMEOUT_S, text: str | None = None, **options) -> Outcome:
        """Start and finish, with `text` on standard input."""
        if text is not None:
            options["stdin"] = subprocess.PIPE
        with self.start(*arguments, **options) as job:
            return job.finish(timeout, text)
