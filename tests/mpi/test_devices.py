"""Windows on a block device: a loop device, with offsets, whole segments and halves."""

from __future__ import annotations

import disks
import pytest

MIB = disks.MIB


@pytest.mark.parametrize(
    ("offset", "size", "kind", "ranks"),
    [(0, MIB, "KEEP", 2), (100, 1000, "KEEP", 3), (MIB + 512, 2 * MIB, "SPLIT", 2)],
    ids=["whole", "unaligned", "split"],
)
def test_device(mpi, launcher, scratch, offset, size, kind, ranks):
    disks.need_root("losetup")
    image = scratch / "image"
    image.write_bytes(b"\xee" * (8 * MIB))
    with disks.loop_device(image, 8 * MIB) as device:
        outcome = launcher.run(mpi, ["device", device, str(offset), str(size), kind], ranks)
    assert outcome.code == 0, outcome.text()
    # No other byte was touched, and `unlink` means nothing to a device.
    stored = size * ranks // (2 if kind == "SPLIT" else 1)
    image_bytes = image.read_bytes()
    assert image_bytes[:offset] == b"\xee" * offset
    assert image_bytes[offset + stored :] == b"\xee" * (8 * MIB - offset - stored)
    assert [path.name for path in scratch.iterdir()] == ["image"]
