"""Power cuts, 20 times in all: what a completed sync covered is on the device.

What is simulated: the machine stops at a point between two writes that the block device has been given. The ext4
under the windows lives in an image behind a loop device; the image lies on XFS and is cloned there (FICLONE) while the
program runs. A clone takes the image's inode lock, which every write of the loop device takes too, so the copy is of
one moment. All that ext4 still had in memory only - dirty pages, an open journal transaction - is missing in the copy.
Mounting the copy replays the journal, as after a real cut. Not simulated: a device that loses writes which it has
acknowledged before a flush.
"""

from __future__ import annotations

import contextlib
import fcntl
import random
from pathlib import Path

import disks
import generations
import pytest
from launching import MPIS
from test_kill import wait_for

RANKS = 2
CUTS = 20
CUTS_EACH = max(1, -(-CUTS // max(1, len(MPIS))))
IMAGE = 64 * disks.MIB
XFS = 1024 * disks.MIB
FICLONE = 0x40049409


def clone(original: Path, copy: Path) -> None:
    with original.open("rb") as source, copy.open("wb") as target:
        fcntl.ioctl(target, FICLONE, source.fileno())


@contextlib.contextmanager
def cloneable(scratch: Path):
    """A folder on a file system that can clone files."""
    with disks.loop_device(scratch / "xfs", XFS) as device:
        disks.run("mkfs.xfs", "-q", "-m", "reflink=1", device)
        with disks.mounted(device, scratch / "clones") as folder:
            yield folder


def test_power_cut(mpi, launcher, scratch):
    disks.need_root("losetup", "mkfs.ext4", "mkfs.xfs")
    chance = random.Random(mpi.name)
    first = MPIS.index(mpi) * CUTS_EACH  # so that all MPIs together cut all layouts
    with cloneable(scratch) as clones:
        image, cuts = clones / "image", []
        with disks.ext4(scratch / "store", image, IMAGE):
            for number in range(CUTS_EACH):
                layout = generations.LAYOUTS[(first + number) % len(generations.LAYOUTS)]
                log = scratch / f"log.{number}"
                store = scratch / "store" / layout.name
                store.mkdir(exist_ok=True)
                words = ["generations", log, str(generations.NEVER_ENDING), *layout.words(store)]
                with launcher.start(mpi, words, RANKS) as job:
                    wait_for(job, log, RANKS, chance.randint(1, 8))
                    before = generations.synced(log, RANKS)
                    clone(image, clones / f"cut.{number}")
                    cuts.append((layout, clones / f"cut.{number}", before, generations.synced(log, RANKS)))
                log.unlink()
        for layout, cut, before, after in cuts:
            with disks.loop_device(cut, IMAGE) as device, disks.mounted(device, scratch / "after") as folder:
                assert min(before) > 0
                generations.check(layout, folder / layout.name, before, after)


@pytest.mark.quick
def test_the_checker_sees_a_loss(scratch):
    """The checker isn't blind: an old word, a word in a wrong place and a short file are all found."""
    layout = generations.LAYOUTS[0]
    good = [5 << 32 | i for i in range(generations.WORDS)]
    for spoil in ("nothing", "old", "place", "short"):
        stored = list(good)
        if spoil == "old":
            stored[777] -= 1 << 32
        if spoil == "place":
            stored[777] += 1
        if spoil == "short":
            stored.pop()
        (scratch / "g.0").write_bytes(generations.array.array("Q", stored).tobytes())
        expected = contextlib.nullcontext() if spoil == "nothing" else pytest.raises(AssertionError)
        with expected:
            generations.check(layout, scratch, [5], [5])
