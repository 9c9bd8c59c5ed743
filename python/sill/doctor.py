"""`sill doctor`: what of this machine matters for storage windows, each with a verdict and what to do."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import native, system, topo
from .errors import SillError
from .mpi import builds, launchers, mpis
from .text import answer, size

OK, WARN, BAD = "ok", "warn", "bad"

# At once; where a rank may have fewer, that is said.
_MANY_WINDOWS = 256


@dataclass(frozen=True)
class Finding:
    """One line of the report. `advice` is "" when there is nothing to do."""

    area: str
    item: str
    verdict: str
    found: str
    advice: str = ""


def examine(folders: Sequence[str] = ()) -> Iterator[Finding]:
    """All findings; `folders` are those that windows should go to, by default the usual ones."""
    known = mpis.find()
    yield from _mpis(known)
    yield from _libraries(known)
    yield from _coarrays()
    for folder in folders or _usual_folders():
        if not Path(folder).is_dir():
            raise SillError(f"{folder}: no such folder; make it, or name another one: sill doctor DIR")
        yield _store(folder)
    yield _shared_memory()
    yield from _limits()
    yield from _memory()
    yield from _kernel()


def _mpis(known: list[mpis.Mpi]) -> Iterator[Finding]:
    for mpi in known:
        missing = [what for what, path in (("mpicc", mpi.cc), ("mpiexec", mpi.mpiexec)) if not path]
        verdict = WARN if missing else OK
        advice = f"no {' and no '.join(missing)}: install its development and run-time parts" if missing else ""
        found = f"{mpis.product(mpi.name, mpi.version)}, family {mpi.family}, {mpi.library}"
        yield Finding("MPI", mpi.name, verdict, found, advice)
    if not known:
        yield Finding(
            "MPI", "none", BAD, "no MPI found", "install one: apt install mpich libmpich-dev, or pip install mpich"
        )
    launcher = launchers.on_path()
    family = launchers.family_of(launcher, known) if launcher else None
    if launcher:
        own = launchers.mpi_of(launcher, known)
        whose = f"{f'{own.title}, ' if own else ''}family {family or 'unknown'}"
        advice = "" if family else "name the MPI's own launcher: sill run --mpiexec CMD"
        yield Finding("MPI", "mpiexec", OK if family else WARN, f"{launcher}, {whose}", advice)
    else:
        yield Finding("MPI", "mpiexec", WARN, "none on $PATH", "load your MPI's module, or use sill run --mpiexec CMD")


def _libraries(known: list[mpis.Mpi]) -> Iterator[Finding]:
    found = builds.libraries()
    for family in mpis.FAMILIES:
        users = [mpi.title for mpi in known if mpi.family == family]
        if family in found:
            yield Finding("Sill", f"libsill-{family}", OK, str(found[family]))
        elif users:
            yield Finding(
                "Sill",
                f"libsill-{family}",
                BAD,
                f"missing, needed by {', '.join(users)}",
                "run make, or reinstall Sill",
            )


def _coarrays() -> Iterator[Finding]:
    """OpenCoarrays: wrappers that link it statically make programs whose coarrays can't be kept."""
    for name in ("caf", "caf.openmpi", "caf.mpich"):
        wrapper = shutil.which(name)
        if wrapper is None:
            continue
        try:
            shown = subprocess.run(
                [wrapper, "--show", "program.o"], capture_output=True, text=True, timeout=20, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            yield Finding("coarrays", name, WARN, f"{wrapper}: can't be asked ({error})", "reinstall OpenCoarrays")
            continue
        static = re.search(r"libcaf_\w+\.a\b", shown.stdout)
        found = f"{wrapper}, links {'statically: ' + static[0] if static else 'the shared library'}"
        advice = "for coarrays that are kept, link with: gfortran -fcoarray=lib ... -lcaf_openmpi (or -lcaf_mpich)"
        yield Finding("coarrays", name, WARN if static else OK, found, advice if static else "")


def _usual_folders() -> list[str]:
    """Where people put windows: here, scratch and temporary folders; each file system once."""
    candidates = [os.getcwd()]
    candidates += [os.environ[name] for name in ("SCRATCH", "WORK", "BBDIR", "TMPDIR") if os.environ.get(name)]
    candidates += [tempfile.gettempdir(), "/dev/shm"]
    folders: dict[int, str] = {}
    for folder in candidates:
        if os.path.isdir(folder):
            folders.setdefault(os.stat(folder).st_dev, folder)
    return list(folders.values())


def _store(folder: str) -> Finding:
    try:
        store = native.query(folder)
    except SillError as error:
        reason, _, advice = str(error).partition("; ")
        return Finding("file system", folder, WARN, f"unknown: {reason}", advice or "run make, or reinstall Sill")
    trial = system.try_out(folder)
    found = (
        f"{store.file_system}, {topo.place(store)}, {size(store.available_bytes)} of {size(store.capacity_bytes)} "
        f"free, reflink {answer(trial.reflink)}, DAX {answer(store.dax)}, O_DIRECT {answer(trial.direct)}, "
        f"fallocate {answer(trial.reserve)}"
    )
    verdict, advice = _judge(store, trial)
    return Finding("file system", folder, verdict, found, advice)


def _judge(store: native.Store, trial: system.Trial) -> tuple[str, str]:
    if not trial.writable:
        return BAD, f"{trial.error}: choose a folder that you may write to"
    if not trial.mapping:
        return BAD, "files can't be mapped here: put windows on another file system"
    if store.available_bytes < 2**30 or store.available_bytes < store.capacity_bytes // 50:
        return WARN, "little space: make room before windows are put here"
    if store.medium == "memory":
        return WARN, "memory, not storage: windows here use up memory and are gone after a reboot"
    if store.served:
        return WARN, "a server's files: prefer a node's own disk or a parallel file system; check sync with make test"
    if not trial.reserve:
        return WARN, "blocks can't be reserved: use storage_alloc_reserve=sparse and keep space free"
    return OK, ""


def _shared_memory() -> Finding:
    """/dev/shm holds the MPI's shared segments, among them the address space under storage windows."""
    if not os.path.isdir("/dev/shm"):
        return Finding("memory", "/dev/shm", BAD, "missing", "mount it: MPI libraries keep shared memory there")
    space = os.statvfs("/dev/shm")
    free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
    memory = system.meminfo("MemTotal")
    small = memory is not None and total < memory // 4
    advice = "windows on one node ask for their size here: enlarge it (mount -o remount,size=..., docker --shm-size)"
    return Finding(
        "memory", "/dev/shm", WARN if small else OK, f"{size(free)} of {size(total)} free", advice if small else ""
    )


def _limits() -> Iterator[Finding]:
    def show(value: int) -> str:
        return "unlimited" if value == resource.RLIM_INFINITY else size(value)

    file_size = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    bounded = file_size != resource.RLIM_INFINITY
    advice = "windows can't grow beyond it: ulimit -f unlimited" if bounded else ""
    yield Finding("limits", "file size", WARN if bounded else OK, show(file_size), advice)
    space = resource.getrlimit(resource.RLIMIT_AS)[0]
    bounded = space != resource.RLIM_INFINITY
    advice = "mapped windows count here: ulimit -v unlimited" if bounded else ""
    yield Finding("limits", "address space", WARN if bounded else OK, show(space), advice)
    yield _descriptors(*resource.getrlimit(resource.RLIMIT_NOFILE), cores=os.cpu_count() or 1)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    low = locked != resource.RLIM_INFINITY and locked < 2**26 and os.path.isdir("/sys/class/infiniband")
    advice = "network cards pin memory: ulimit -l unlimited" if low else ""
    yield Finding("limits", "locked memory", WARN if low else OK, show(locked), advice)


def _descriptors(limit: int, hard: int, cores: int) -> Finding:
    """A rank keeps one descriptor for each window or coarray; its program and MPI library want some, too."""
    unlimited = resource.RLIM_INFINITY
    if limit == unlimited:
        return Finding("limits", "open files", OK, "unlimited")
    kept_free = 128 + 4 * cores
    windows = max(0, limit - kept_free)
    few = windows < _MANY_WINDOWS
    wanted = max(4096, 2 * (kept_free + _MANY_WINDOWS))
    allowed = hard == unlimited or hard >= wanted
    advice = f"ulimit -n {wanted}" + ("" if allowed else f", which administrators have to allow: now at most {hard}")
    advice = advice if few else ""
    found = f"{limit}: {windows} windows or coarrays a rank"
    return Finding("limits", "open files", WARN if few else OK, found, advice)


def _memory() -> Iterator[Finding]:
    available = system.meminfo("MemAvailable")
    yield Finding("memory", "available", OK, size(available))
    limit, path = system.memory_limit()
    if limit is None:
        yield Finding("memory", "cgroup limit", OK, "none")
    else:
        # Dirty file pages count too: they are written out, and slow, before the limit kills.
        advice = "storage_alloc_factor=auto keeps windows below it; so does a larger limit of the job"
        tight = available is not None and limit < available
        yield Finding(
            "memory", "cgroup limit", WARN if tight else OK, f"{size(limit)} ({path})", advice if tight else ""
        )
    yield _dirty_pages()
    yield _swap()
    yield Finding("memory", "page size", OK, size(os.sysconf("SC_PAGE_SIZE")))
    huge = system.meminfo("HugePages_Total")
    enabled = system.read("/sys/kernel/mm/transparent_hugepage/enabled")
    chosen = re.search(r"\[(\w+)\]", enabled or "")
    mode = chosen[1] if chosen else "not there"
    advice = "memory windows fault slower: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    found = f"transparent: {mode}, reserved: {huge or 0}"
    # Reserved huge pages are memory that neither windows nor the page cache can use.
    yield Finding("memory", "huge pages", WARN if mode == "never" else OK, found, advice if mode == "never" else "")


def _dirty_pages() -> Finding:
    """How much may be dirty before the kernel holds back who dirties more; bytes count instead of a ratio if set."""

    def number(name: str) -> int:
        return int((system.read(f"/proc/sys/vm/{name}") or "").strip() or -1)

    def show(name: str) -> str:
        limit = number(f"{name}_bytes")
        return size(limit) if limit > 0 else f"{number(f'{name}_ratio')} %"

    if number("dirty_ratio") < 0:
        return Finding("memory", "dirty pages", WARN, "no /proc/sys/vm/dirty_ratio", "look on the host itself")
    share = number("dirty_bytes") * 100 / (system.meminfo("MemTotal") or 1) or number("dirty_ratio")
    found = f"held back at {show('dirty')} of memory, written out from {show('dirty_background')} on"
    advice = "what fills windows faster than the device writes is slow early: sysctl vm.dirty_ratio=20, or more"
    return Finding("memory", "dirty pages", WARN if share < 20 else OK, found, advice if share < 20 else "")


def _swap() -> Finding:
    total = system.meminfo("SwapTotal") or 0
    advice = "what windows have in memory may go there, and is slow then; for measurements: swapoff -a"
    return Finding("memory", "swap", WARN if total else OK, size(total) if total else "none", advice if total else "")


def _kernel() -> Iterator[Finding]:
    release = os.uname().release
    yield Finding("kernel", "release", OK, f"Linux {release}, {os.uname().machine}")
    with tempfile.TemporaryFile() as file:
        can_tell = system.cache_state(file.fileno()) is not None
    advice = "" if can_tell else "resident and dirty bytes show as unknown; Linux 6.5 or newer tells them"
    yield Finding("kernel", "cachestat", OK if can_tell else WARN, "works" if can_tell else "not there", advice)
    works, why = _io_uring()
    advice = "" if works else "nothing needs it yet; to allow it: sysctl kernel.io_uring_disabled=0"
    yield Finding("kernel", "io_uring", OK if works else WARN, why, advice)
    yield Finding("Sill", "Python", OK, f"{sys.version.split()[0]}, {sys.executable}")


def _io_uring() -> tuple[bool, str]:
    """Whether a ring can be made, by making one."""
    parameters = (ctypes.c_uint8 * 120)()  # struct io_uring_params
    number = 560 if os.uname().machine == "alpha" else 425
    try:
        os.close(system.call("syscall", ctypes.c_long(number), ctypes.c_uint(1), ctypes.byref(parameters)))
    except OSError as error:
        reasons = {errno.ENOSYS: "not in this kernel", errno.EPERM: "forbidden by the system or the container"}
        return False, reasons.get(error.errno, error.strerror)
    return True, "works"
