"""What a program is: its file, the interpreter of a script, and the MPI family that it, or a Python's mpi4py, uses."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..errors import SillError
from . import elf
from .mpis import SONAMES, Mpi, ask

# Scripts that name scripts that name scripts: Linux itself stops at four.
_DEPTH = 4
_LARGEST_SCRIPT = 1 << 16  # characters of it that are looked at

# mpi4py's names of the ABIs, as in MPI4PY_MPIABI.
_MPI4PY_FAMILIES = {"mpiabi": "mpiabi", "mpich": "mpich", "impi": "mpich", "openmpi": "ompi"}

_FIND_MPI4PY = """
import importlib.util, os
spec = importlib.util.find_spec("mpi4py")
for folder in spec.submodule_search_locations if spec else ():
    for name in sorted(os.listdir(folder)):
        if name.startswith("MPI.") and name.endswith(".so"):
            print(os.path.join(folder, name))
"""


@dataclass(frozen=True)
class Mpi4py:
    """What is known of a Python's mpi4py before it is imported; all empty when there is none."""

    family: str | None = None
    library: str | None = None
    wheel: bool = False


@dataclass(frozen=True)
class Program:
    """A program to run. `family` is None for programs that load MPI by themselves, such as interpreters."""

    path: str
    interpreter: str  # the ELF file that runs it; `path` itself unless it is a script
    family: str | None = None
    library: str | None = None  # libmpi, where it was found
    python: Mpi4py | None = None  # for Pythons: their mpi4py
    coarrays: str | None = None  # "shared" or "static", as elf.coarrays() says


def split(text: str, option: str) -> list[str]:
    """The words of a command line that an option gives, as the shell would see them."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SillError(f"{option} {text}: {error}; write it as for the shell", 2) from error


def find(name: str) -> Program:
    """Look at a program as the shell would find it, or in the current folder; one clear error if it can't be run."""
    path = shutil.which(name) or (os.path.abspath(name) if os.path.isfile(name) else None)
    if path is None:
        raise SillError(f"{name}: no such program; give its path, e.g. ./{os.path.basename(name)}", 127)
    if not os.access(path, os.X_OK):
        raise SillError(f"{name}: not executable; make it so with: chmod +x {shlex.quote(name)}", 126)
    return _described(path, _interpreter(path), name)


def behind(program: Program, arguments: Sequence[str]) -> Program:
    """What runs in the end where `program` has no MPI of its own: the MPI program that it names, else the first Python
    that it names; `program` itself where it names none, or programs of several families.

    Wrappers (env, timeout, taskset, strace, gdb --args) name what they start among their arguments, shells in the text
    behind -c or in a script. What a shell would have to expand isn't seen.
    """
    if program.family or program.python:
        return program
    named = list(_named(program, arguments, set(), _DEPTH))
    found = [one for path, interpreter in named if (one := _with_mpi(path, interpreter))]
    if found:
        return found[0] if len({one.family for one in found}) == 1 else program
    pythons = [(path, interpreter) for path, interpreter in named if _is_python(interpreter)]
    return _described(*pythons[0], pythons[0][0]) if pythons else program


def mpi4py_settings(module: Mpi4py, family: str, mpis: list[Mpi]) -> dict[str, str]:
    """The variables that make a wheel load the first of `mpis` that is of `family`; none when the user chose."""
    if not module.wheel or "MPI4PY_LIBMPI" in os.environ or "MPI4PY_MPIABI" in os.environ:
        return {}
    fitting = [mpi for mpi in mpis if mpi.family == family]
    if not fitting:
        return {}
    if os.path.basename(fitting[0].library).startswith("libmpich."):
        raise SillError(
            f"mpi4py's wheel can't load {fitting[0].library}, it asks for libmpi.so.12: use another MPI's mpiexec, "
            "or build mpi4py with this one's mpicc"
        )
    return {"MPI4PY_LIBMPI": fitting[0].library}


def _named(program: Program, arguments: Sequence[str], seen: set[str], depth: int) -> Iterator[tuple[str, str]]:
    """Path and interpreter of each program that may be started: those in the text of a script, then the arguments."""
    for word in [*_script_words(program), *arguments, *_shell_words(arguments)]:
        path = shutil.which(word)
        if path is None or path in seen:
            continue
        seen.add(path)
        try:
            interpreter = _interpreter(path)
        except SillError:
            continue
        yield path, interpreter
        if depth > 1 and interpreter != path:
            yield from _named(Program(path, interpreter), (), seen, depth - 1)


def _script_words(program: Program) -> Iterator[str]:
    """The words of a shell script; none for other programs."""
    script = program.path != program.interpreter or not elf.is_elf(program.path)
    if script and not _is_python(program.interpreter):
        with open(program.path, errors="replace") as file:
            yield from _shell_words(file.read(_LARGEST_SCRIPT).splitlines())


def _shell_words(texts: Iterable[str]) -> Iterator[str]:
    """The words of lines as a shell has them, without its operators."""
    for text in texts:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:  # a quotation that goes on in the next line
            words = text.split()
        yield from (word for word in words if not word.startswith("-"))


def _with_mpi(path: str, interpreter: str) -> Program | None:
    """A program if it has an MPI of its own and can be preloaded for."""
    try:
        family, library = _mpi_of_elf(interpreter, path)
    except (SillError, OSError):
        return None
    return Program(path, interpreter, family, library, coarrays=elf.coarrays(interpreter)) if family else None


def _described(path: str, interpreter: str, name: str) -> Program:
    family, library = _mpi_of_elf(interpreter, name)
    if family is None and _is_python(interpreter):
        module = _mpi4py_of(interpreter)
        return Program(path, interpreter, module.family, module.library, module)
    return Program(path, interpreter, family, library, coarrays=elf.coarrays(interpreter) if family else None)


def _is_python(interpreter: str) -> bool:
    return os.path.basename(os.path.realpath(interpreter)).startswith(("python", "pypy"))


def _interpreter(path: str) -> str:
    """Follow `#!` lines down to the file that the kernel runs."""
    for _ in range(_DEPTH):
        try:
            with open(path, "rb") as file:
                start = file.readline(4096)
        except OSError as error:
            raise SillError(f"{path}: {error.strerror}; sill needs to read it to find its MPI family") from error
        if not start.startswith(b"#!"):
            return path
        words = start[2:].decode(errors="replace").split()
        if words and os.path.basename(words[0]) == "env":
            # `env -S name arguments`, `env VARIABLE=value name`
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(words[0]) if words else None
        if found is None:
            missing = words[0] if words else "an interpreter"
            raise SillError(f"{path}: its first line asks for {missing}, which isn't there; install or correct it", 126)
        path = found
    raise SillError(f"{path}: scripts that run scripts too deep; name the interpreter itself", 126)


def _mpi_of_elf(path: str, name: str) -> tuple[str | None, str | None]:
    """Family and libmpi of an ELF program; two families in one program can't work and are an error."""
    try:
        program = elf.read(path)
    except elf.NotElfError:
        return None, None  # a script without #!: the shell runs it
    if not program.dynamic:
        raise SillError(f"{name}: statically linked, nothing can be preloaded; link it with -lmpi as shared library")
    found = elf.mpis_needed(path)
    if len(found) > 1:
        raise SillError(f"{name}: needs two MPIs at once ({' and '.join(found)}); rebuild it with one of them")
    return next(iter(found.items()), (None, None))


# --- mpi4py ---


def _mpi4py_of(python: str) -> Mpi4py:
    """Look at the modules of a Python's mpi4py, and at the user's choice in MPI4PY_LIBMPI and MPI4PY_MPIABI."""
    modules = _mpi4py_modules(python)
    if not modules:
        return Mpi4py()
    needed = elf.mpis_needed(modules[0])
    if len(modules) == 1 and needed:
        family, library = next(iter(needed.items()))
        return Mpi4py(family, library)
    if library := os.environ.get("MPI4PY_LIBMPI"):
        return Mpi4py(_family_of_library(library), library, wheel=True)
    choice = os.environ.get("MPI4PY_MPIABI", "").lower().replace("-", "").replace("_", "")
    return Mpi4py(_MPI4PY_FAMILIES.get(choice), wheel=True)


def _mpi4py_modules(python: str) -> list[str]:
    answer = ask(python, "-c", _FIND_MPI4PY, timeout_s=60)
    return answer.stdout.split("\n")[:-1] if answer and answer.returncode == 0 else []


def _family_of_library(path: str) -> str | None:
    try:
        soname = elf.read(path).soname
    except (OSError, elf.NotElfError) as error:
        raise SillError(f"MPI4PY_LIBMPI={path}: {error}; correct or unset it") from error
    return SONAMES.get(soname)
