"""What Python's ctypes take for granted of the library: its ABI, and how the structures of sill.h lie in memory."""

from __future__ import annotations

import ctypes
import sys

import pytest
from command_support import MPIS, ROOT, run_job
from sill import native
from sill.topo import ranks

STRUCTURES = {
    "sill_store_info": native.StoreInfo,
    "sill_split_stats": ranks._SplitStats,
    "sill_store": ranks._SharedStore,
    "sill_store_list": ranks._StoreList,
}
LAYOUT = """
#include <sill/sill.h>
#include <stdio.h>
int main(void) {{
  printf("SILL_ABI %d\\n", SILL_ABI);
{}
  return 0;
}}
"""


def test_structures_lie_as_the_c_compiler_says(compile_c):
    expected = {"SILL_ABI": native.ABI}
    for name, structure in STRUCTURES.items():
        expected[f"sizeof({name})"] = ctypes.sizeof(structure)
        for field, *_ in structure._fields_:
            expected[f"offsetof({name}, {field})"] = getattr(structure, field).offset
    lines = (f'  printf("{what} %zu\\n", {what});' for what in expected if what != "SILL_ABI")
    program = compile_c(LAYOUT.format("\n".join(lines)), f"-I{ROOT}/include", cc=MPIS[0].cc)
    said = (line.rpartition(" ") for line in run_job([program], {}).stdout.splitlines())
    assert {what: int(number) for what, _, number in said} == expected


@pytest.mark.parametrize(("source", "abi"), [("int sill_abi(void) { return 7; }\n", "7"), ("int older;\n", "none")])
def test_a_library_of_another_sill_is_refused(source, abi, compile_c, sill, harness_environment, tmp_path):
    """By this process, and by the ranks of `sill topo`, whose library is preloaded."""
    library = compile_c(f"int sill_stores;\n{source}", "-shared", "-fPIC", name="libsill-mpich.so")
    alone = sill("topo", tmp_path, env={"SILL_LIBRARY_DIR": str(library.parent)})
    command = [sys.executable, "-m", "sill.topo.ranks", "--family", "mpich", tmp_path]
    on_a_rank = run_job(command, {**harness_environment, "LD_PRELOAD": str(library)})
    for result in (alone, on_a_rank):
        assert (result.returncode, result.stdout) == (1, "")
        assert f"{library}: its SILL_ABI is {abi}, this command's is {native.ABI}: " in result.stderr
        assert "SILL_LIBRARY_DIR" in result.stderr


def test_a_rank_without_the_library_says_so(harness_environment, tmp_path):
    command = [sys.executable, "-m", "sill.topo.ranks", "--family", "mpich", tmp_path]
    result = run_job(command, harness_environment)
    assert result.returncode == 1
    assert "no sill_stores is loaded; does the launcher remove LD_PRELOAD?" in result.stderr
