"""`sill ls` and `sill show`: the sidecar's words and the file system's numbers."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from datetime import datetime, timedelta, timezone

import pytest
from records import change, text_of
from sill import sidecar, system
from sill.errors import SillError

PAGE = mmap.PAGESIZE


@contextlib.contextmanager
def as_an_ordinary_user(folder):
    """Root may read everything, so for a while it is nobody; what is in `folder` becomes nobody's."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534)
    for above in folder.parents:
        if not above.stat().st_mode & 0o001:
            above.chmod(above.stat().st_mode | 0o011)  # root's group is still ours
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def window(tmp_path):
    """Write a window's file of two pages and its sidecar, as an allocation does."""

    def make(name="w0.r0", segments=((0, 0, 2 * PAGE),), created="", data=b"x" * (2 * PAGE), version=2):
        file = tmp_path / name
        if data is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        content = {
            "job": "job-7",
            "created": created or datetime.now(timezone.utc).isoformat(timespec="milliseconds"),
            "window": "0",
            "segments": [{"rank": r, "offset": o, "size": s} for r, o, s in segments],
            "unlink": False,
        }
        beside = tmp_path / f"{name}.sill"
        beside.write_text(text_of({"window": content}) if version == 2 else json.dumps({"sill": 1, **content}))
        if not created:
            moment = round(datetime.fromisoformat(content["created"]).timestamp() * 1000) * 1_000_000
            os.utime(beside, ns=(moment, moment))
        return file

    return make


@pytest.mark.parametrize("version", [1, 2])
def test_a_window_is_described_by_sidecar_and_file_system(window, version):
    file = window(segments=((3, 0, PAGE), (1, PAGE, PAGE)), version=version)
    found = sidecar.window_file(file)
    assert (found.path, found.job, found.window, found.unlink) == (str(file), "job-7", "0", False)
    assert found.ranks == (1, 3)
    assert found.size == 2 * PAGE
    assert found.allocated == file.stat().st_blocks * 512
    assert [(s.rank, s.offset, s.size) for s in found.segments] == [(3, 0, PAGE), (1, PAGE, PAGE)]


def test_the_sidecar_itself_may_be_named(window):
    file = window()
    assert sidecar.window_file(f"{file}.sill") == sidecar.window_file(file)


def test_dirty_bytes_are_those_not_on_the_device(window):
    file = window(segments=((0, 0, PAGE), (1, PAGE, PAGE)))
    with open(file, "r+b") as opened:
        if system.cache_state(opened.fileno()) is None:
            pytest.skip("no cachestat before Linux 6.5")
        os.fsync(opened.fileno())
        clean = sidecar.window_file(file)
        assert (clean.dirty, clean.resident) == (0, 2 * PAGE)
        opened.seek(PAGE)
        opened.write(b"y")
        opened.flush()
        touched = sidecar.window_file(file)
        os.fsync(opened.fileno())
        clean_again = sidecar.window_file(file)
    if touched.dirty == 0:
        pytest.skip("this file system keeps no dirty pages")
    # One byte makes a whole folio dirty, which may be larger than a page.
    assert touched.segments[1].dirty == PAGE
    assert touched.dirty >= PAGE
    assert clean_again.dirty == 0


def test_unknown_is_said_where_the_kernel_cannot_tell(window, monkeypatch):
    monkeypatch.setattr(sidecar, "cache_state", lambda *_: None)
    found = sidecar.window_file(window())
    assert (found.resident, found.dirty, found.segments[0].dirty) == (None, None, None)


@pytest.mark.parametrize(
    ("after_ns", "synced"),
    [
        (0, False),
        (-345_000_000, False),  # a file system that counts whole seconds
        (-1_345_000_000, False),  # or two
        (1, True),
        (2_000_000, True),
        (300_000_000_000, True),
        (-3_000_000, True),  # the kernel takes the time of files from a clock that ticks
    ],
)
def test_any_time_but_that_of_its_creation_is_the_last_sync(after_ns, synced, window):
    file = window(created="2026-01-02T03:04:05.345Z")
    created = datetime(2026, 1, 2, 3, 4, 5, 345000, timezone.utc)
    time_ns = round(created.timestamp() * 1000) * 1_000_000 + after_ns
    os.utime(f"{file}.sill", ns=(time_ns, time_ns))
    found = sidecar.window_file(file).last_sync
    assert (found is not None) == synced
    if synced:
        assert found >= created
        assert abs(found - created) <= timedelta(microseconds=abs(after_ns) / 1000 + 1)


def test_a_time_with_z_is_read(window):
    assert sidecar.window_file(window(created="2026-01-02T03:04:05Z")).created.hour == 3


def test_a_file_that_is_gone_is_listed_as_gone(window, sill, tmp_path):
    window("gone", data=None)
    found = sidecar.window_file(tmp_path / "gone")
    assert (found.exists, found.size) == (False, None)
    assert "gone" in sill("ls", tmp_path).stdout
    assert sill("show", tmp_path / "gone").returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "{}",
        '{"sill": 3}',
        '{"sill": 2}',
        '{"sill": 1}',
        text_of({}),
        text_of({"window": {}}),
        text_of({"window": {"job": "j"}}).replace("j", "k"),
        '{"sill": 1, "job": "j", "created": "x", "segments": []}',
    ],
)
def test_sidecars_that_cannot_be_read_are_said(text, tmp_path, sill):
    (tmp_path / "w.sill").write_text(text)
    with pytest.raises(SillError, match=r"w\.sill"):
        sidecar.window_file(tmp_path / "w")
    assert sill("ls", tmp_path).stderr.count("\n") == 1


def test_ls_shows_the_good_ones_and_names_the_bad_ones(window, sill, tmp_path):
    window("a")
    window("c")
    (tmp_path / "b.sill").write_text("not json")
    (tmp_path / "d.sill").write_text("[]")
    result = sill("ls", tmp_path)
    assert result.returncode == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["file", "a", "c"]
    first, second = result.stderr.splitlines()
    assert first.startswith(f"sill: {tmp_path}/b.sill: not JSON")
    assert second.startswith(f"sill: {tmp_path}/d.sill: not a sidecar")
    as_json = sill("ls", "--json", tmp_path)
    assert [os.path.basename(row["path"]) for row in json.loads(as_json.stdout)] == ["a", "c"]
    assert (as_json.returncode, as_json.stderr) == (1, result.stderr)


def test_what_one_may_not_read_is_named(window, sill, tmp_path):
    window("mine")
    window("theirs")
    (tmp_path / "folder").mkdir()
    (tmp_path / "theirs.sill").chmod(0)
    (tmp_path / "folder").chmod(0)
    with as_an_ordinary_user(tmp_path):
        result = sill("ls", "-r", tmp_path)
        show = sill("show", tmp_path / "theirs")
    (tmp_path / "folder").chmod(0o700)
    assert result.returncode == 1
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["file", "mine"]
    assert {line.split(": ")[1] for line in result.stderr.splitlines()} == {
        f"{tmp_path}/theirs.sill",
        f"{tmp_path}/folder",
    }
    assert "Permission denied; look at it as the user" in show.stderr


@pytest.mark.parametrize("gone", ["sidecar", "both", "between"])
def test_windows_that_a_job_removes_meanwhile_are_left_out(gone, window, sill, tmp_path, monkeypatch):
    """Between reading the folder and a file in it, or between two looks at that file."""
    window("a")
    window("b")
    walk, read = os.walk, sidecar._read

    def remove(*names):
        for name in names:
            (tmp_path / name).unlink()

    def walk_and_remove(*arguments, **more):
        for found in walk(*arguments, **more):
            remove("a.sill", *(["a"] if gone == "both" else []))
            yield found

    def remove_and_read(path):
        if path.name == "a.sill":
            remove("a.sill")
        return read(path)

    if gone == "between":
        monkeypatch.setattr(sidecar, "_read", remove_and_read)
    else:
        monkeypatch.setattr(os, "walk", walk_and_remove)
    result = sill("ls", tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["file", "b"]


def test_only_regular_files_are_sidecars(sill, tmp_path):
    os.mkfifo(tmp_path / "pipe.sill")
    (tmp_path / "link.sill").symlink_to("nothing")
    assert sill("ls", tmp_path).stdout == f"no windows in {tmp_path}\n"
    for name in ("pipe", "link"):
        assert "no such file" in sill("show", tmp_path / f"{name}.sill").stderr


def test_python_is_told_of_a_bad_one_by_an_exception(window, tmp_path):
    window("a")
    (tmp_path / "b.sill").write_text("not json")
    with pytest.raises(SillError, match=r"b\.sill"):
        list(sidecar.window_files(tmp_path))


def test_ls_lists_files_by_name_with_their_ranks(window, sill, tmp_path):
    window("b", segments=((0, 0, PAGE), (1, PAGE, PAGE), (2, 0, 0), (5, 0, 0)))
    window("a name")
    window("below/c")
    (tmp_path / "other").write_text("no window")
    lines = sill("ls", tmp_path).stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["file", "a name", "b"]
    assert "0-2,5" in lines[2]
    assert sill("ls", "-r", tmp_path).stdout.splitlines()[3].startswith("below/c")


def test_json_has_the_numbers_in_bytes(window, sill, tmp_path):
    file = window()
    (row,) = json.loads(sill("ls", "--json", tmp_path).stdout)
    assert row == json.loads(sill("show", "--json", file).stdout)
    assert (row["size"], row["segments"][0]["size"], row["job"]) == (2 * PAGE, 2 * PAGE, "job-7")
    assert datetime.fromisoformat(row["created"]).tzinfo is not None


def test_an_empty_folder_has_no_windows(sill, tmp_path):
    assert sill("ls", tmp_path).stdout == f"no windows in {tmp_path}\n"
    assert sill("ls", "--json", tmp_path).stdout == "[]\n"


def test_show_says_why_a_file_is_no_window(sill, tmp_path):
    (tmp_path / "file").write_text("")
    for path, text in (("file", "not a window"), ("none", "no such file"), (".", "a folder"), ("/no/x", "sill ls /no")):
        result = sill("show", tmp_path / path)
        assert result.returncode == 1
        assert text in result.stderr
        assert result.stderr.count("\n") == 1


def test_show_names_the_coarray(window, sill):
    file = window("OpenCoarrays_m.x.2", segments=((1, 0, 2 * PAGE),))
    beside = file.with_name(f"{file.name}.sill")
    record = {"program": "heat", "build": "", "name": "m::x", "team": "", "size": 2 * PAGE, "image": 2, "images": 4}
    change(beside, lambda sections: sections.update(coarrays=[{**record, "state": "kept"}]))
    shown = sill("show", file).stdout
    assert "m::x" in shown
    assert "heat" in shown
    assert "2 of 4" in shown
    assert "m::x" in sill("ls", file.parent).stdout
    change(beside, lambda sections: sections.update(coarrays=[{"name": "m::x"}]))
    with pytest.raises(SillError, match="not a sidecar that this Sill reads"):
        sidecar.window_file(file)
