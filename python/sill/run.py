"""What `sill run` and `sill preload` decide: family, launcher, environment of the program."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from . import native
from .errors import SillError, held_signals, unwound_by_signals
from .mpi import builds, launchers, mpis, programs

_GRACE_S = 10  # for a launcher that is told to end


def command(
    program: Sequence[str],
    ranks: int | None = None,
    mpiexec: str | None = None,
    windows: str | None = None,
    store: str | None = None,
) -> list[str]:
    """The command line that runs `program` with Sill; `store` is a folder that make_store() makes.

    Without `ranks` and `mpiexec` there is no launcher: the program runs as it is, for use below srun or mpiexec. The
    program alone gets LD_PRELOAD, from `env` behind the launcher, which works on every node and with every launcher.
    """
    start = programs.find(program[0])
    target = programs.behind(start, program[1:])
    launcher = launchers.words_of(mpiexec)
    known = launchers.known_with(launcher[0] if launcher else None)
    direct = ranks is None and not launcher
    if launcher and target.family:
        launchers.check_fit(launcher[0], target, known)
    family = _family(target, launcher, known, direct)
    if not launcher and not direct:
        launcher = [launchers.choose(family, target.library, known)]
    count = ["-n", str(ranks)] if ranks is not None else []
    settings = program_environment(family, windows, store, os.environ, _front(target, os.environ))
    _check_rule(settings.get("SILL_WINDOWS", ""), windows, store)
    if target.python:
        first = launchers.mpi_of(launcher[0] if launcher else launchers.on_path() or "mpiexec", known)
        settings.update(programs.mpi4py_settings(target.python, family, [*([first] if first else []), *known]))
        settings["LD_PRELOAD"] += _libmpi_behind(family, target.library or settings.get("MPI4PY_LIBMPI"))
    # A name found on $PATH stays a name: other nodes may have it elsewhere.
    name = program[0] if shutil.which(program[0]) else start.path
    assignments = [f"{key}={value}" for key, value in settings.items()]
    return [*launcher, *count, "env", *assignments, name, *program[1:]]


def execute(command: Sequence[str]) -> NoReturn:
    """Become that command."""
    sys.stdout.flush()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise SillError(f"{command[0]}: {error.strerror}; name a launcher with --mpiexec", 126) from error


def relay(command: Sequence[str]) -> int:
    """Run that command and write what it prints; its exit code.

    A launcher takes no notice of an output that can't be written to, so what it prints comes by us.
    """
    sys.stdout.flush()
    process = None
    with unwound_by_signals():
        try:
            with held_signals():
                process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
            output, _ = process.communicate()
        except BaseException:
            if process is None:
                raise
            process.terminate()
            try:
                process.communicate(timeout=_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            raise
    print(output, end="")
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def make_store(store: str) -> None:
    """Make the folder of `sill run --store`, if it isn't there, and see that it can be used."""
    folder = os.path.abspath(store)
    for part in (folder, *map(str, Path(folder).parents)):
        if os.path.islink(part) and not os.path.exists(part):
            raise SillError(f"{part}: a link to {os.readlink(part)}, which isn't there; make that, or remove the link")
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        why = "not a folder" if isinstance(error, FileExistsError) else error.strerror
        raise SillError(f"{folder}: {why}; choose a folder for --store that you may write to") from error


def preload_library(program: str | None = None) -> Path:
    """The library to preload for a program, or for what the launcher of this environment runs."""
    known = mpis.find()
    if program is not None:
        target = programs.behind(programs.find(program), ())
        return builds.library(_family(target, [], known, direct=True), _front(target, os.environ))
    family = launchers.family_of_surroundings(os.environ)
    if family is None and (launcher := launchers.on_path()):
        family = launchers.family_of(launcher, known)
    if family is None:
        raise SillError("no launcher on $PATH tells the MPI family: name your program, sill preload PROGRAM")
    return builds.library(family)


def program_environment(
    family: str, windows: str | None, store: str | None, surroundings: Mapping[str, str], front: str = "sill"
) -> dict[str, str]:
    """The variables that a program gets. Sill's own are all named, for launchers hand on only some to other nodes."""
    settings = {key: value for key, value in surroundings.items() if key.startswith(("SILL_", "PCAF_"))}
    rule = _rule(windows, store)
    if rule:
        settings["SILL_WINDOWS"] = rule
    settings["LD_PRELOAD"] = _preload(builds.library(family, front), surroundings.get("LD_PRELOAD", ""))
    return settings


def _front(target: programs.Program, surroundings: Mapping[str, str]) -> str:
    """Which of Sill's libraries a program wants: that for coarrays if it has some."""
    if target.coarrays == "static" and surroundings.get("PCAF_ENABLED") == "true":
        raise SillError(
            f"{target.path}: PCAF_ENABLED can't work, for OpenCoarrays is linked statically (as `caf` does); link "
            "with: gfortran -fcoarray=lib PROGRAM.f90 -lcaf_openmpi (or -lcaf_mpich)"
        )
    return "sill-caf" if target.coarrays == "shared" else "sill"


def _family(target: programs.Program, launcher: list[str], known: list[mpis.Mpi], direct: bool) -> str:
    """The family of a program, or for an interpreter that of the launcher."""
    if target.family:
        return target.family
    if direct and (family := launchers.family_of_surroundings(os.environ)):
        return family
    name = launcher[0] if launcher else launchers.on_path()
    family = launchers.family_of(name, known) if name else None
    if family is None and len(there := builds.libraries()) == 1:
        family = next(iter(there))
    if family is None:
        raise SillError(
            f"{target.path}: neither the program nor a launcher tells the MPI family; name the MPI's own mpiexec "
            "with --mpiexec"
        )
    return family


def _preload(library: Path, already: str) -> str:
    """LD_PRELOAD with Sill behind what is there, so that a profiler sees the program's calls first."""
    words = [word for word in already.replace(":", " ").split() if word]
    family = library.stem.rpartition("-")[2]
    names = {word: Path(word).name.partition(".so")[0] for word in words}  # linked programs hand on libsill-mpich.so.1
    same = (f"libsill-{family}", f"libsill-caf-{family}")
    others = [word for word in words if names[word].startswith("libsill-") and names[word] not in same]
    if others:
        raise SillError(f"LD_PRELOAD already has {others[0]}, of another MPI family: unset it")
    if any(char in str(library) for char in " :"):
        raise SillError(
            f"{library}: LD_PRELOAD can't name a path with spaces or colons; set SILL_LIBRARY_DIR to a link"
        )
    kept = [word for word in words if names[word] not in same]
    return ":".join([*kept, str(library)])


def _libmpi_behind(family: str, library: str | None) -> str:
    """What follows Sill in LD_PRELOAD for a Python.

    Open MPI's handles are data of its libmpi, so libsill-ompi.so needs one from the start. A Python that isn't linked
    with it would get the system's, which may be another than mpi4py's.
    """
    if family != "ompi" or not library or any(char in library for char in " :"):
        return ""
    return f":{library}"


def _rule(windows: str | None, store: str | None) -> str | None:
    """The value of SILL_WINDOWS; None leaves it as it is."""
    if store is None:
        return windows
    if windows and "storage_alloc_filename" in windows:
        raise SillError("--store and a storage_alloc_filename in --windows both name the files: give one of them")
    if not store or store.startswith("-"):
        raise SillError(f"--store '{store}': no name of a folder (an unset variable?); one with a dash is ./-NAME", 2)
    folder = os.path.abspath(store)
    if any("=" in part for part in folder.split(",")[1:]):
        raise SillError(f"{folder}: a rule can't name a folder with '=' after a comma; use another folder")
    name = folder.replace("%", "%%")
    rule = f"alloc_type=storage,storage_alloc_filename={name}/w%w.r%r"
    return f"{rule},{windows}" if windows else rule


def _check_rule(rule: str, windows: str | None, store: str | None) -> None:
    """What a rank would say of a rule, before any is started; in the words of the options that it is made of."""
    given = [*(["--store"] if store is not None else []), *([f"--windows {windows}"] if windows is not None else [])]
    try:
        native.check_rule(rule)
    except SillError as error:
        text = str(error)
        raise SillError(text.replace("SILL_WINDOWS:", f"{' with '.join(given)}:", 1) if given else text) from error
