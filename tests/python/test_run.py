"""`sill run` and `sill preload`: the right library for the right program, and nothing else changed."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest
from bench_support import executable
from command_support import BUILD, EVERY_MPI, MPIS, SAYING_LAUNCHER, launcher, run_job
from sill import run
from sill.errors import SillError
from sill.mpi import programs


def facts(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


@pytest.fixture
def sill_run(sill, stand_ins):
    """`sill run` with the stand-in libraries."""

    def command(*arguments, env=None, **more):
        return sill("run", *arguments, env={"SILL_LIBRARY_DIR": str(stand_ins), **(env or {})}, **more)

    return command


@EVERY_MPI
def test_a_program_gets_its_familys_library(mpi, mpi_program, sill_run):
    result = sill_run("-n", 2, "--mpiexec", launcher(mpi), "--", mpi_program(mpi))
    assert result.returncode == 0, result.stderr
    assert facts(result.stdout)["ranks"] == "2"
    assert facts(result.stdout)["preloaded"] == mpi.family


@EVERY_MPI
def test_the_exit_code_is_the_programs(mpi, mpi_program, sill_run):
    assert sill_run("-n", 1, mpi_program(mpi), 42).returncode == 42


@EVERY_MPI
def test_a_program_that_is_killed_is_not_a_success(mpi, sill_run):
    assert sill_run("-n", 1, "--mpiexec", launcher(mpi), "--", "sh", "-c", "kill -9 $$").returncode != 0


@EVERY_MPI
def test_only_the_program_is_preloaded(mpi, sill_run, stand_ins):
    """The launcher itself and its daemons stay as they are."""
    look = "tr '\\0' '\\n' </proc/$PPID/environ | grep '^LD_PRELOAD=' || echo launcher is clean"
    result = sill_run("-n", 1, "--mpiexec", launcher(mpi), "--", "sh", "-c", look)
    assert result.stdout.strip() == "launcher is clean"


@EVERY_MPI
def test_arguments_and_rules_arrive_below_the_programs_own_launcher(mpi, mpi_program, sill_run, tmp_path):
    """Without --mpiexec, whatever $PATH says: the ranks find each other only below a launcher that fits."""
    store = tmp_path / "with space, and 100%"
    words = ["two words", "", "quote's", 'double"quote', "-n", "$HOME", "a=b", "*"]
    result = sill_run("-n", 2, "--store", store, "--", mpi_program(mpi), 0, *words)
    assert result.returncode == 0, result.stderr
    assert facts(result.stdout)["ranks"] == "2"
    assert [line[9:] for line in result.stdout.splitlines() if line.startswith("argument=")] == words
    name = str(store).replace("%", "%%")
    assert facts(result.stdout)["rule"] == f"alloc_type=storage,storage_alloc_filename={name}/w%w.r%r"
    assert store.is_dir()


def test_store_and_windows_together(mpi_program, sill_run, tmp_path):
    result = sill_run("--store", tmp_path, "--windows", "storage_alloc_unlink=true", mpi_program(MPIS[0]))
    rule = facts(result.stdout)["rule"]
    assert rule == f"alloc_type=storage,storage_alloc_filename={tmp_path}/w%w.r%r,storage_alloc_unlink=true"


def test_a_relative_store_is_named_from_the_root(mpi_program, sill_run, tmp_path):
    result = sill_run("--store", "below", mpi_program(MPIS[0]), cwd=tmp_path)
    assert f"={tmp_path}/below/w%w.r%r" in facts(result.stdout)["rule"]


def test_windows_wins_over_the_environment(mpi_program, sill_run):
    old = {"SILL_WINDOWS": "alloc_type=memory"}
    assert facts(sill_run(mpi_program(MPIS[0]), env=old).stdout)["rule"] == "alloc_type=memory"
    result = sill_run("--windows", "alloc_type=storage", mpi_program(MPIS[0]), env=old)
    assert facts(result.stdout)["rule"] == "alloc_type=storage"


def test_an_existing_preload_is_kept_and_comes_first(mpi_program, sill_run, compile_c):
    other = compile_c("int other;\n", "-shared", "-fPIC", name="libother.so")
    result = sill_run(mpi_program(MPIS[0]), env={"LD_PRELOAD": str(other)})
    first, second = facts(result.stdout)["preload"].split(":")
    assert first == str(other)
    assert Path(second).name == f"libsill-{MPIS[0].family}.so"


def test_sill_is_preloaded_once(stand_ins, monkeypatch):
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    library = str(stand_ins / "libsill-mpich.so")
    for already in (library, f"{library}.1"):
        settings = run.program_environment("mpich", None, None, {"LD_PRELOAD": already})
        assert settings["LD_PRELOAD"] == library


def test_coarrays_get_their_own_library_and_variables(stand_ins, monkeypatch):
    """The library for coarrays stands for the plain one, too."""
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    surroundings = {"LD_PRELOAD": str(stand_ins / "libsill-mpich.so"), "PCAF_ENABLED": "true", "PCAF": "no variable"}
    settings = run.program_environment("mpich", None, None, surroundings, "sill-caf")
    assert settings == {"LD_PRELOAD": str(stand_ins / "libsill-caf-mpich.so"), "PCAF_ENABLED": "true"}


def test_coarrays_linked_statically_cannot_be_kept():
    target = programs.Program("/a/program", "/a/program", "mpich", coarrays="static")
    assert run._front(target, {}) == "sill"
    assert run._front(programs.Program("/a/program", "/a/program", "mpich", coarrays="shared"), {}) == "sill-caf"
    with pytest.raises(SillError, match="OpenCoarrays is linked statically"):
        run._front(target, {"PCAF_ENABLED": "true"})


def test_another_familys_preload_is_refused(stand_ins, monkeypatch):
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    with pytest.raises(SillError, match="another MPI family"):
        run.program_environment("mpich", None, None, {"LD_PRELOAD": str(stand_ins / "libsill-ompi.so")})


def test_all_settings_are_handed_to_other_nodes(stand_ins, monkeypatch):
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    settings = run.program_environment("mpich", None, None, {"SILL_LOG": "debug", "SILL_STATS": "1", "HOME": "/h"})
    assert settings["SILL_LOG"] == "debug"
    assert settings["SILL_STATS"] == "1"
    assert "HOME" not in settings


@EVERY_MPI
def test_below_a_launcher_no_other_is_started(mpi, mpi_program, harness_environment, stand_ins):
    command = [mpi.mpiexec, *mpi.oversubscribe, "-n", "2", sys.executable, "-m", "sill", "run", mpi_program(mpi)]
    result = run_job(command, {**harness_environment, "SILL_LIBRARY_DIR": str(stand_ins)})
    assert result.returncode == 0, result.stderr
    assert facts(result.stdout)["ranks"] == "2"
    assert facts(result.stdout)["preloaded"] == mpi.family


@EVERY_MPI
def test_mpi4py_uses_the_launchers_mpi(mpi, sill_run):
    """An interpreter tells no family: the launcher does, and the wheel of mpi4py follows it."""
    pytest.importorskip("mpi4py")
    if Path(mpi.library).name.startswith("libmpich."):
        pytest.skip("mpi4py's wheel asks for libmpi.so.12, Debian's MPICH is libmpich.so.12")
    if mpi.family == "mpiabi":
        pytest.skip("its launcher is that of MPICH's other ABI, which is used then")
    code = (
        "from mpi4py import MPI; maps = open('/proc/self/maps').read();"
        "print(MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, *sorted({l.split()[-1] for l in maps.splitlines()"
        " if 'libmpi.so' in l or 'libsill-' in l}))"
    )
    result = sill_run("-n", 1, "--mpiexec", launcher(mpi), "--", sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    loaded = {Path(path).name.split("-")[0]: path for path in result.stdout.split()[2:]}
    assert Path(loaded.pop("libsill")).name == f"libsill-{mpi.family}.so"
    assert [os.path.realpath(path) for path in loaded.values()] == [os.path.realpath(mpi.library)]


def test_mpi4pys_wheel_on_debians_mpich_is_a_clear_error(sill_run):
    pytest.importorskip("mpi4py")
    mpi = next((m for m in MPIS if Path(m.library).name.startswith("libmpich.")), None)
    if mpi is None:
        pytest.skip("no Debian MPICH here")
    result = sill_run("-n", 1, "--mpiexec", mpi.mpiexec, "--", sys.executable, "-c", "pass")
    assert result.returncode == 1
    assert "mpi4py's wheel can't load" in result.stderr


@EVERY_MPI
def test_preload_names_the_library_of_a_program(mpi, mpi_program, sill, stand_ins):
    result = sill("preload", mpi_program(mpi), env={"SILL_LIBRARY_DIR": str(stand_ins)})
    assert result.stdout == f"{stand_ins}/libsill-{mpi.family}.so\n"


@pytest.mark.parametrize("mpi", [m for m in MPIS if m.family != "mpiabi"], ids=lambda mpi: mpi.name)
def test_preload_without_a_program_follows_the_launcher_on_path(mpi, sill, stand_ins, tmp_path):
    (tmp_path / "mpiexec").symlink_to(mpi.mpiexec)
    env = {"SILL_LIBRARY_DIR": str(stand_ins), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert sill("preload", env=env).stdout == f"{stand_ins}/libsill-{mpi.family}.so\n"


WRAPPERS = (
    "env A=1 {p} 0",
    "env '{folder}/a link'",
    "timeout -k 5 10 {p}",
    "nice -n 1 taskset -c 0 {p}",
    "bash -c 'ulimit -v unlimited; exec {p} 0 \"a b\"'",
    "{folder}/script.sh",
    "{folder}/without-first-line {p}",
    "{folder}/outer.sh 1 2",
    "{folder}/affinity.sh {p} 0",
    "timeout 9 {folder}/script.sh",
)


@pytest.fixture(scope="session")
def wrapped(mpi_program, tmp_path_factory):
    """A command line of one of WRAPPERS around the program of an MPI."""

    def words(mpi, wrapper):
        folder, program = tmp_path_factory.mktemp("wrappers"), mpi_program(mpi)
        executable(folder / "script.sh", f"#!/bin/sh\n# it's here\nset -e\nexport A='b\nc'\nexec {program} 0 \"$@\"\n")
        executable(folder / "outer.sh", f'#!/usr/bin/env bash\nif true; then {folder}/script.sh "$@"; fi\n')
        executable(folder / "affinity.sh", '#!/bin/sh\nexec taskset -c 0 "$@"\n')
        (folder / "a link").symlink_to(program)
        executable(folder / "without-first-line", 'exec "$@"\n')
        return shlex.split(wrapper.format(p=program, folder=folder))

    return words


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_program_behind_a_wrapper_decides(wrapper, wrapped, stand_ins, monkeypatch):
    """Library and launcher are its, whatever $PATH has."""
    monkeypatch.setenv("SILL_LIBRARY_DIR", str(stand_ins))
    for mpi in (MPIS[0], MPIS[-1]):
        words = wrapped(mpi, wrapper)
        command = run.command(words, ranks=2)
        assert Path(command[0]).parent == Path(mpi.mpiexec).parent
        assert f"LD_PRELOAD={stand_ins}/libsill-{mpi.family}.so" in command
        assert command[len(command) - len(words) + 1 :] == words[1:]


def test_what_is_started_behind_a_wrapper_runs(sill_run, wrapped):
    result = sill_run("-n", 2, "--", *wrapped(MPIS[-1], WRAPPERS[0]))
    assert result.returncode == 0, result.stderr
    assert facts(result.stdout)["ranks"] == "2"
    assert facts(result.stdout)["preloaded"] == MPIS[-1].family


def test_a_python_behind_a_wrapper_is_one():
    start = programs.find("env")
    found = programs.behind(start, ["A=1", "timeout", "9", sys.executable, "-c", "pass"])
    assert (found.path, found.python) == (sys.executable, programs.find(sys.executable).python)


def one_of_two_families():
    found = [[mpi for mpi in MPIS if mpi.family == family][:1] for family in ("mpich", "ompi")]
    if not all(found):
        pytest.skip("there is no MPICH here, or no Open MPI")
    return [mpi for [mpi] in found]


def test_where_nothing_or_two_families_are_named_the_wrapper_stays(mpi_program):
    shell = programs.find("sh")
    assert programs.behind(shell, ["-c", "exec $PROGRAM"]) is shell
    one, other = (mpi_program(mpi) for mpi in one_of_two_families())
    assert programs.behind(shell, ["-c", f"{one} && {other}"]) is shell
    python = programs.find(sys.executable)
    assert programs.behind(python, [str(one)]) is python


def test_a_launcher_of_another_mpi_is_refused_before_anything_starts(sill_run, mpi_program, stand_ins):
    program, other = one_of_two_families()
    for words in ([mpi_program(program)], ["timeout", "9", mpi_program(program)]):
        result = sill_run("-n", 2, "--mpiexec", other.mpiexec, "--", *words)
        assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
        assert program.library in result.stderr
        assert f"{other.title} in {other.prefix}" in result.stderr
        assert program.mpiexec in result.stderr


def test_dry_run_prints_a_line_the_shell_understands(mpi_program, sill_run, tmp_path):
    result = sill_run("--dry-run", "-n", 1, "--store", tmp_path / "a b", "--", mpi_program(MPIS[0]), 7, "x y")
    words = shlex.split(result.stdout)
    assert words[-1] == "x y"
    assert "env" in words
    assert any(word.startswith("SILL_WINDOWS=alloc_type=storage") and "a b" in word for word in words)
    assert list(tmp_path.iterdir()) == [], "nothing is done, so no folder is made"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--", "no-such-program"], 127, "no such program"),
        (["-n", "2", "--mpiexec", "no-such-launcher", "--", "true"], 127, "no such launcher"),
        (["-n", "0", "--", "true"], 2, "sill run --help"),
        (["-n", "x", "--", "true"], 2, "sill run --help"),
        (["--store", "/proc/no", "--mpiexec", MPIS[0].mpiexec, "--", "sh"], 1, "choose a folder"),
        (
            ["--store", "/tmp", "--windows", "storage_alloc_filename=/x", "--mpiexec", MPIS[0].mpiexec, "--", "sh"],
            1,
            "one of them",
        ),
        (["--store", "/tmp/a,b=c", "--mpiexec", MPIS[0].mpiexec, "--", "sh"], 1, "another folder"),
        (["--store", "", "--", "sh"], 2, "no name of a folder"),
        (["--store", "--", "sh"], 2, "no name of a folder"),
        (["--store", "/dev/null", "--mpiexec", MPIS[0].mpiexec, "--", "sh"], 1, "/dev/null: not a folder"),
        ([], 2, "sill run --help"),
    ],
)
def test_errors_are_one_line_that_says_what_to_do(arguments, code, text, sill_run):
    result = sill_run(*arguments)
    assert result.returncode == code
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("sill: ")
    assert text in result.stderr


def test_a_store_that_is_a_dangling_link_is_said(sill_run, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for store in (tmp_path / "link", tmp_path / "link" / "below"):
        result = sill_run("--store", store, "--mpiexec", MPIS[0].mpiexec, "--", "sh")
        assert result.returncode == 1
        assert f"{tmp_path}/link: a link to {tmp_path}/gone, which isn't there" in result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user here")
def test_a_store_that_may_not_be_written_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    os.seteuid(65534)
    try:
        with pytest.raises(SillError, match="Permission denied; choose a folder"):
            run.make_store(".")
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("options", "rule", "said"),
    [
        (["--windows", "x=y"], "", "sill: --windows x=y: unknown key 'x'; see: sill hints"),
        (["--windows", "--"], "", "sill: --windows --: '--': expected key=value"),
        (["--windows", "file_perm=9"], "", "sill: --windows file_perm=9: file_perm=9: "),
        (["--store", "S", "--windows", "alloc_type=memory"], "", "alloc_type=memory: key alloc_type is given twice"),
        ([], "alloc_type=tape", "sill: SILL_WINDOWS: alloc_type=tape: "),
    ],
)
def test_a_rule_is_checked_before_anything_starts(options, rule, said, sill_run, tmp_path):
    """By the libraries' own reader, so that both mean the same."""
    words = [str(tmp_path / "s") if word == "S" else word for word in options]
    launch = executable(tmp_path / "launch", SAYING_LAUNCHER)
    env = {"SILL_LIBRARY_DIR": str(BUILD / "lib"), **({"SILL_WINDOWS": rule} if rule else {})}
    result = sill_run("-n", 2, "--mpiexec", launch, *words, "--", "sh", env=env)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert said in result.stderr
    assert not (tmp_path / "s").exists()


def test_a_sill_toml_is_checked_before_anything_starts(sill_run, tmp_path):
    (tmp_path / "sill.toml").write_text("[windows]\nfactor = 1\n")
    launch = executable(tmp_path / "launch", SAYING_LAUNCHER)
    env = {"SILL_LIBRARY_DIR": str(BUILD / "lib"), "SILL_CONFIG": str(tmp_path / "sill.toml")}
    result = sill_run("-n", 2, "--mpiexec", launch, "--", "sh", env=env)
    assert (result.returncode, result.stdout) == (1, "")
    assert f"{tmp_path}/sill.toml:2: unknown key 'factor'" in result.stderr


def test_a_missing_library_is_said(sill_run, mpi_program, tmp_path):
    result = sill_run(mpi_program(MPIS[0]), env={"SILL_LIBRARY_DIR": str(tmp_path)})
    assert result.returncode == 1
    assert f"no libsill-{MPIS[0].family}.so in {tmp_path}" in result.stderr
