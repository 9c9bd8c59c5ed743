"""Several nodes on one machine: network, mounts, host name, IPC, /tmp and /dev/shm of their own. Needs root.

All of it lives in namespaces that end with their first process, and that one ends with this process, even by a kill:
then nothing is left but a folder.
"""

from __future__ import annotations

import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import disks
import pytest
from sill.mpi import mpis

SCRIPT = Path(__file__).with_name("nodes.sh")
PATIENCE_S = 120  # for a machine that is busy
# Like ssh: HOST COMMAND..., behind options that don't matter here, and with little of the environment that is here.
REMOTE_SHELL = """#!/bin/sh
while :; do case $1 in -l | -o | -p) shift 2 ;; -*) shift ;; *) break ;; esac; done
case $1 in
{cases}
*) echo "$1: no such node" >&2; exit 255 ;;
esac
shift
exec env -i PATH="$PATH" HOME="$HOME" TMPDIR=/tmp SILL_TEST_JOB="$SILL_TEST_JOB" \\
  nsenter -t "$pid" --net --mount --uts --ipc sh -c "$*"
"""


class Nodes:
    """Nodes n0 and, if there are two, n1, until `end`. Below /tmp they see the same only in the folders `shared`; the
    rest of the file system is one."""

    def __init__(self, count: int, shared: Iterable[Path]) -> None:
        disks.need_root("ip", "nsenter", "unshare")
        assert count in (1, 2)
        kinds = ["--pid", "--fork", "--mount", "--net", "--uts", "--ipc"]
        allowed = subprocess.run(["unshare", *kinds, "true"], capture_output=True, text=True, timeout=PATIENCE_S)
        if allowed.returncode != 0:
            pytest.skip(f"no nodes can be made here: {allowed.stderr.strip()}")
        self.hosts = [f"n{number}" for number in range(count)]
        self.folder = Path(tempfile.mkdtemp(prefix="sill-nodes-"))
        self.remote_shell = self.folder / "bin" / "rsh"
        self.remote_shell.parent.mkdir()
        words = [SCRIPT, "cluster", self.folder, count, self.remote_shell.parent, *shared]
        self.first = subprocess.Popen(
            ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--propagation", "private", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            self.outside, *self.pids = self._told()
            cases = "\n".join(f"{host}) pid={pid} ;;" for host, pid in zip(self.hosts, self.pids))
            self.remote_shell.write_text(REMOTE_SHELL.format(cases=cases))
            self.remote_shell.chmod(0o755)
        except BaseException:
            self.end()
            raise

    def _told(self) -> list[str]:
        """The process ids that the script tells when all nodes are there."""
        ready, _, _ = select.select([self.first.stdout], [], [], PATIENCE_S)
        assert ready, "the nodes don't come up"
        line = self.first.stdout.readline()
        assert line, self.first.stderr.read()
        return line.split()

    def end(self) -> None:
        """End every process in the nodes, and remove their folders."""
        self.first.stdin.close()
        try:
            self.first.wait(PATIENCE_S)
        finally:
            self.first.kill()  # by --kill-child, the nodes with it
            self.first.wait()
            self.first.stdout.close()
            self.first.stderr.close()
            shutil.rmtree(self.folder)

    def inside(self, number: int) -> list[str]:
        """Words before a command that is to run in that node."""
        enter = ["nsenter", "-t", self.outside, "--pid", "--mount"]
        return [*enter, "nsenter", "-t", self.pids[number], "--net", "--mount", "--uts", "--ipc"]

    def tmp(self, number: int) -> Path:
        """Where /tmp of that node lies for who isn't in it."""
        return self.folder / self.hosts[number]

    def options(self, mpi: mpis.Mpi, ranks: int) -> list[str]:
        """What tells mpiexec to start as many ranks on each node."""
        each, rest = divmod(ranks, len(self.hosts))
        assert rest == 0
        hosts = ",".join(f"{host}:{each}" for host in self.hosts)
        if mpi.family != "ompi":
            return ["-launcher", "ssh", "-launcher-exec", str(self.remote_shell), "-hosts", hosts]
        agent = ["--mca", "plm_rsh_agent"] if mpi.version_tuple < (5,) else ["--prtemca", "plm_ssh_agent"]
        # UCX takes ranks of two such nodes for ranks that share memory.
        return [*agent, str(self.remote_shell), "--mca", "osc", "^ucx", "--host", hosts, "--bind-to", "none"]
