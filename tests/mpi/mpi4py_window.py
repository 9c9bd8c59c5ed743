"""A storage window from mpi4py: allocation, puts, sync, what the file holds, shared windows, memory of MPI."""

import os
import sys
from array import array

from mpi4py import MPI

COUNT = 1000


def check(condition, what):
    if not condition:
        print(f"rank {MPI.COMM_WORLD.rank}: wrong {what}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


def file_of(rank, name):
    with open(os.path.join(os.environ["SILL_TEST_DIR"], f"{name}.{rank}"), "rb") as file:
        return file.read()


def hints(name):
    path = os.path.join(os.environ["SILL_TEST_DIR"], name + ".%r")
    return MPI.Info.Create({"alloc_type": "storage", "storage_alloc_filename": path})


def use(win, name):
    comm = MPI.COMM_WORLD
    target, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    mine = memoryview(win.tomemory()).cast("B").cast("i")
    win.Fence()
    win.Put(array("i", [1000 * comm.rank + i for i in range(COUNT)]), target)
    win.Fence()
    check(list(mine[:COUNT]) == [1000 * before + i for i in range(COUNT)], "puts")
    win.Fence()
    win.Accumulate(array("i", [1] * COUNT), target, op=MPI.SUM)
    win.Fence()
    got = array("i", [0] * COUNT)
    win.Lock(target, MPI.LOCK_SHARED)
    win.Get(got, target)
    win.Unlock(target)
    check(list(got) == [1000 * comm.rank + i + 1 for i in range(COUNT)], "gets")
    comm.Barrier()
    win.Lock(comm.rank)
    win.Sync()
    win.Unlock(comm.rank)
    comm.Barrier()
    in_file = memoryview(file_of(target, name)).cast("i")
    check(list(in_file[:COUNT]) == list(got), "bytes in the file")
    comm.Barrier()
    mine.release()


def main():
    win = MPI.Win.Allocate(4 * COUNT, 4, hints("allocated"), MPI.COMM_WORLD)
    check(win.flavor == MPI.WIN_FLAVOR_ALLOCATE and win.model == MPI.WIN_UNIFIED, "attributes")
    check(win.info.Get("alloc_type") == "storage", "info")
    use(win, "allocated")
    win.Free()
    win = MPI.Win.Allocate_shared(4096, 4, hints("shared"), MPI.COMM_WORLD)
    use(win, "shared")
    win.Free()
    if MPI.COMM_WORLD.size > 1:  # with one rank Open MPI 4 refuses
        memory = MPI.Alloc_mem(4 * COUNT, hints("created"))
        win = MPI.Win.Create(memory, 4, MPI.INFO_NULL, MPI.COMM_WORLD)
        use(win, "created")
        win.Free()
        MPI.Free_mem(memory)

    MPI.COMM_WORLD.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        MPI.Win.Allocate(100, 1, hints("no/such/folder"), MPI.COMM_WORLD)
    except MPI.Exception as error:
        check(error.Get_error_class() == MPI.ERR_NO_SUCH_FILE and "no/such" in str(error), f"error {error}")
    else:
        check(False, "success")


main()
