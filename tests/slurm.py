"""A real Slurm on the nodes of nodes.py: munged, slurmctld and a slurmd for each node, which end with the nodes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from launching import PAUSE_S, TIMEOUT_S, Job, Outcome
from nodes import PATIENCE_S, Nodes

TOOLS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "srun")
TRIED = ("22.05", "24.11")  # of Debian 12 and 13
# As many processors as tests want; how many there are doesn't matter.
CONFIGURATION = """\
ClusterName=sill
SlurmctldHost={hosts[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
SlurmdParameters=config_overrides
SlurmctldTimeout=300
SlurmdTimeout=300
ReturnToService=2
NodeName={list} CPUs=4 RealMemory=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
"""
# Below srun, a rank of Open MPI that is still in MPI_Init may crash by the message of one that isn't any more (its
# issue 12495, open): 2 of 160 runs of `sill topo` on a busy machine, in the progress loop of MPI_Init, where nothing is
# Sill's.
CRASHED = re.compile(r"\*\*\* Process received signal \*\*\*\n\[.*\] Signal: Segmentation fault")
TRIES = 3


def need_slurm() -> None:
    """Skip, with the reason, where there is none."""
    for tool in TOOLS:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    version = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, timeout=PATIENCE_S).stdout.strip()
    if not any(tried in version for tried in TRIED):
        pytest.skip(f"{version}: its daemons were only tried here in the versions {' and '.join(TRIED)}")


class Slurm:
    """Slurm on `nodes`, which end with it; `folder` is one that all nodes see, for its files."""

    def __init__(self, nodes: Nodes, folder: Path) -> None:
        self.nodes = nodes
        self.folder = folder
        (folder / "state").mkdir()
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(
            CONFIGURATION.format(folder=folder, hosts=nodes.hosts, list=",".join(nodes.hosts))
        )
        self.daemons: list[subprocess.Popen] = []
        try:
            self._start_all()
        except BaseException:
            self.end()
            raise

    def _start_all(self) -> None:
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        socket = self.folder / "munge.socket"
        files = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
        self._start(0, "munged", "--foreground", "--force", f"--socket={socket}", *files)
        self.wait_for("munged", socket.exists)
        self._start(0, "slurmctld", "-D")
        for number in range(len(self.nodes.hosts)):
            self._start(number, "slurmd", "-D")
        self.wait_for("all nodes", self._all_idle)

    def end(self) -> None:
        """End the nodes, and with them the daemons."""
        self.nodes.end()
        for daemon in self.daemons:
            daemon.wait(PATIENCE_S)

    def _environment(self, given: Mapping[str, str] | None = None) -> dict[str, str]:
        return {**(given or os.environ), "SLURM_CONF": str(self.configuration), "TMPDIR": "/tmp"}

    def _start(self, node: int, *words: str) -> None:
        log = (self.folder / f"{words[0]}.{node}.out").open("w")
        with log:
            daemon = subprocess.Popen(
                [*self.nodes.inside(node), *words],
                env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.daemons.append(daemon)

    def wait_for(self, what: str, condition: Callable[[], bool], more: Callable[[], str] = str) -> None:
        """Until that is true; `more` tells what went on when it isn't."""
        deadline = time.monotonic() + 2 * PATIENCE_S  # a batch job may have many steps
        while not condition():
            ended = [daemon.args for daemon in self.daemons if daemon.poll() is not None]
            assert not ended, f"ended: {ended}\n{self.log()}"
            assert time.monotonic() < deadline, f"waiting for {what}\n{more()}\n{self.log()}"
            threading.Event().wait(PAUSE_S)

    def _all_idle(self) -> bool:
        states = self.ask("sinfo", "--noheader", "--Node", "--format=%T", "--states=idle", check=False)
        return states.split() == ["idle"] * len(self.nodes.hosts)

    def log(self) -> str:
        return "".join(f"{path}:\n{path.read_text()[-3000:]}\n" for path in sorted(self.folder.glob("*.[lo][ou][gt]")))

    def ask(self, *words: str | Path, env: Mapping[str, str] | None = None, check: bool = True) -> str:
        """What a short command of Slurm's says."""
        done = subprocess.run(
            [*self.nodes.inside(0), *map(str, words)],
            env=self._environment(env), capture_output=True, text=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"{words}: {done.stderr}\n{self.log()}"
        return done.stdout.strip()

    def run(self, *words: str | Path, env: Mapping[str, str]) -> Outcome:
        """Run srun, or what calls it, to its end. A time limit ends its ranks, too."""
        for _ in range(TRIES):
            with Job([str(word) for word in words], self._environment(env), self.nodes.inside(0)) as job:
                outcome = job.finish(TIMEOUT_S)
            if not CRASHED.search(outcome.err):
                break
        if outcome.code is None:
            self.ask("scancel", "--user=root")
            self.wait_for("cancelled jobs", lambda: not self.ask("squeue", "--noheader"))
        return outcome

    def submit(self, *words: str | Path, env: Mapping[str, str]) -> str:
        """The number of a new batch job; options and the script."""
        # A process of a job of ours would be killed when its sbatch is over.
        return self.ask("sbatch", "--parsable", *words, env=env)

    def complete(self, log: Path, *words: str | Path, env: Mapping[str, str]) -> None:
        """Run a batch job, whose ranks write to `log`, to its end, and see that it is a good one."""
        for _ in range(TRIES):
            states = self.end_of(self.submit(*words, env=env), log)
            if not CRASHED.search(log.read_text()):
                break
        assert states == {"COMPLETED"}, log.read_text()

    def end_of(self, job: str, log: Path) -> set[str]:
        """Wait for the end of a batch job; the states of all its parts (sbatch --wait looks too seldom)."""
        states: set[str] = set()

        def over() -> bool:
            states.clear()
            states.update(self.ask("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T").split())
            return bool(states) and not states & {"PENDING", "CONFIGURING", "RUNNING", "SIGNALING", "COMPLETING"}

        self.wait_for(f"the end of job {job}", over, lambda: log.read_text() if log.exists() else "")
        return states
