"""A memory limit for one run: by a control group where this user may make one, else by SILL_MEMORY_LIMIT."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SillError

V1, V2 = "cgroup v1", "cgroup v2"
VARIABLE = "SILL_MEMORY_LIMIT"
_PAUSE_S, _PATIENCE_S = 0.01, 30


@dataclass(frozen=True)
class Limit:
    """How a run is held to a limit: words before the program on every rank, and variables."""

    how: str  # V1, V2, VARIABLE, or "none"
    bytes: int = 0
    prefix: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


NONE = Limit("none")


@contextlib.contextmanager
def limited(limit: int, groups: bool = True, root: Path = Path("/sys/fs/cgroup")) -> Iterator[Limit]:
    """A limit in bytes for all ranks together, 0 for none.

    `groups=False`: the ranks run elsewhere (srun), where a group made here is of no use. The variable binds what Sill
    puts into memory with storage_alloc_factor=auto and makes its windows learn; no page cache, no memory windows.
    """
    if limit == 0:
        yield NONE
        return
    made = _make(limit, root) if groups else None
    if made is None:
        yield Limit(VARIABLE, limit, (), {VARIABLE: str(limit)})
        return
    how, group = made
    enter = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', f"{group}/cgroup.procs")
    try:
        yield Limit(how, limit, enter)
    finally:
        _remove(group)


def _make(limit: int, root: Path) -> tuple[str, Path] | None:
    """A new group without processes, and its version; None where none can be made."""
    name = f"sill-bench-{uuid.uuid4().hex[:8]}"
    for how, parent, knob in _parents(root):
        group = parent / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            with open(group / knob, "r+") as file:  # there already, if the parent hands on the memory controller
                file.write(str(limit))
            if os.access(group / "cgroup.procs", os.W_OK):
                return how, group
        except OSError:
            pass
        _remove(group)
    return None


def _parents(root: Path) -> Iterator[tuple[str, Path, str]]:
    """Groups in which one may perhaps be made, with the name of the limit's file."""
    if (root / "memory" / "memory.limit_in_bytes").exists():
        yield V1, root / "memory", "memory.limit_in_bytes"
    if (root / "cgroup.controllers").exists():
        yield V2, root, "memory.max"
        # A user's own part of the tree, as systemd delegates it, begins above the group of this process.
        with contextlib.suppress(OSError):
            own = [line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
            for path in own:
                yield V2, (root / path.lstrip("/")).parent, "memory.max"


def _remove(group: Path) -> None:
    """A group's last process may take a moment to go."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > deadline:
                raise SillError(
                    f"{group} is still in use ({error.strerror}); end its processes, then rmdir it"
                ) from error
        threading.Event().wait(_PAUSE_S)
