# SPDX-License-Identifier: BSD-3-Clause
"""Wrong use: an exception says what is wrong, and the job goes on."""
import array

import common
from common import check, equal, numpy, pgas, raises

raises(pgas.Error, "pgas.init() was not called", pgas.my_pe)
raises(pgas.Error, "pgas.init() was not called", pgas.zeros, 3)
raises(pgas.Error, "pgas.init() was not called", pgas.barrier_all)
raises(ValueError, "threads is 7", pgas.init, 7)
check(not pgas.is_initialized(), "not yet")


def wrong_arrays():
    raises(TypeError, "dtype 'float65'", pgas.zeros, 3, "float65")
    raises(TypeError, "dtype ", pgas.zeros, 3, object)
    raises(ValueError, "at least 1", pgas.zeros, 0)
    raises(ValueError, "at least 1", pgas.zeros, (3, -1))
    raises(ValueError, "power of two", pgas.empty, 3, float, 24)
    raises(MemoryError, "SHMEM_SYMMETRIC_SIZE", pgas.zeros, 1 << 50)
    aligned = pgas.empty(3, "int8", align=4096)
    equal(aligned.address % 4096, 0, "align")
    aligned.free()


def wrong_elements(x, n):
    there = x.at(n - 1)
    raises(ValueError, f"no PE {n}; PEs are 0 to {n - 1}", x.at, n)
    raises(ValueError, "no PE -1", x.p, 1, -1)
    raises(TypeError, "", x.at, "0")
    raises(IndexError, "index 10 is outside 0 to 9", there.p, 1, 10)
    raises(IndexError, "index -11 is outside", there.g, -11)
    raises(TypeError, "index is 1.5", there.p, 1, 1.5)
    raises(TypeError, "index is 'a'", there.g, "a")
    raises(TypeError, "value is 1.5, expected an integer for int64", there.p, 1.5)
    raises(TypeError, "value is 'a'", there.p, "a")
    raises(TypeError, "value is None", there.atomic_add, None)
    raises(OverflowError, "does not fit into int64", there.p, 1 << 63)
    raises(OverflowError, "does not fit into int64", there.atomic_add, 1 << 63)
    raises(IndexError, "2 indices for 1 dimensions", there.g, (1, 2))
    raises(IndexError, "a step of -1", there.__getitem__, slice(None, None, -1))
    floats = pgas.zeros(2)
    raises(TypeError, "value is 'a', expected a number for float64", floats.at(0).p, "a")
    raises(TypeError, "atomic_add: there is no such call for float64", floats.at(0).atomic_add, 1.0)
    raises(TypeError, "wait: there is no such call for float64; there is one for int32", floats.wait_until, "==", 1.0)
    raises(TypeError, "signals are uint64", floats.at(0).signal_set, 1)
    floats.free()


def wrong_copies(x, n):
    there = x.at(n - 1)
    raises(IndexError, "5 elements from index 6 on are more than the 10", there.put, [1] * 5, 6)
    raises(TypeError, "expected int64", there.put, array.array("i", [1]))
    raises(TypeError, "source is a object", there.put, object())
    raises(ValueError, "no multiple of the 8", there.put, b"abc")
    raises(ValueError, "read-only", there.get, 0, dest=bytes(8))
    raises(ValueError, "count is 3, but dest has 2", there.get, 0, 3, array.array("q", [0, 0]))
    raises(IndexError, "more than the 10", there.get, 5, 6)
    raises(ValueError, "2 values for 3 elements", there.__setitem__, slice(0, 3), [1, 2])
    raises(TypeError, "signal is", there.put_signal, [1], x, 1)
    if numpy:
        gaps = numpy.arange(10)[::2]
        there.put(gaps)  # a copy of it
        raises(ValueError, "gaps", there.put_nbi, gaps)
        raises(ValueError, "gaps", there.get, 0, dest=gaps)
        raises(TypeError, "float64, expected int64", there.put, numpy.zeros(2))


def wrong_groups(x, n):
    y, local = pgas.zeros(10, "int64"), array.array("q", [0] * 10)
    raises(pgas.Error, "dest is not in symmetric memory", pgas.world.reduce, local, x)
    raises(ValueError, "op is 'plus'", pgas.world.reduce, y, x, "plus")
    raises(ValueError, "dest has 10 elements; 11 are needed", pgas.world.reduce, y, x, count=11)
    raises(ValueError, f"root is {n}", pgas.world.broadcast, y, x, n)
    raises(TypeError, "dest is a int", pgas.world.broadcast, 3, x)
    raises(ValueError, "cmp is '=>'", x.wait_until, "=>", 1)
    raises(IndexError, "index 10", x.wait_until, "==", 1, 10)
    raises(ValueError, "status has 1 numbers for 10", x.test_all, "==", 1, status=[0])
    floats = pgas.zeros(10)
    raises(TypeError, "and_reduce: there is no such call for float64", pgas.world.reduce, floats, op="and")
    raises(TypeError, "dest has elements of int64, source of float64", pgas.world.reduce, y, floats)
    floats.free()
    y.free()
    raises(pgas.Error, "predefined", pgas.world.destroy)
    raises(pgas.Error, "default context", pgas.default_context.destroy)


def ended(n):
    gone = pgas.zeros(10, "int64")
    there = gone.at(n - 1)
    gone.free()
    raises(pgas.Error, "this array was freed", there.p, 1)
    raises(pgas.Error, "this array was freed", there.g)
    raises(pgas.Error, "this array was freed", there.atomic_add, 1)
    raises(pgas.Error, "this array was freed", there.put, [1])
    raises(pgas.Error, "this array was freed", gone.free)
    raises(pgas.Error, "this array was freed", gone.__getitem__, 0)
    raises(pgas.Error, "this array was freed", pgas.world.reduce, gone)
    x, context, team = pgas.zeros(3, "int64"), pgas.Context(), pgas.world.split_color(1)
    mine, by_team = context.at(x, 0), team.context()
    second = by_team.at(x, 0)
    context.destroy()
    raises(pgas.Error, "context was destroyed", mine.p, 1)
    raises(pgas.Error, "context was destroyed", context.quiet)
    team.destroy()
    raises(pgas.Error, "the team of this context was destroyed", second.p, 1)
    raises(pgas.Error, "team was destroyed", team.sync)
    return x


def main():
    pgas.init()
    n = pgas.n_pes()
    x = pgas.zeros(10, "int64")
    wrong_arrays()
    wrong_elements(x, n)
    wrong_copies(x, n)
    wrong_groups(x, n)
    left_over = ended(n)
    pgas.barrier_all()
    there, context, team = left_over.at(0), pgas.Context(), pgas.world.split_color(1)
    first = pgas.my_pe() == 0
    pgas.finalize()
    raises(pgas.Error, "ended by finalize()", there.p, 1)
    raises(pgas.Error, "ended by finalize()", x.__getitem__, 0)
    raises(pgas.Error, "ended the job", context.quiet)
    raises(pgas.Error, "ended the job", pgas.finalize)
    pgas.init()  # once more: a new job of the same processes
    raises(pgas.Error, "ended by finalize()", there.p, 1)
    raises(pgas.Error, "ended by pgas.finalize()", context.quiet)
    raises(pgas.Error, "ended by pgas.finalize()", team.sync)
    y = pgas.array([pgas.my_pe()], "int64")
    pgas.world.reduce(y)
    equal(y.tolist(), [n * (n - 1) // 2], "a sum in the second job")
    pgas.finalize()
    if first:
        print(f"{common.checks} checks passed, {'with' if numpy else 'without'} numpy", flush=True)


main()
