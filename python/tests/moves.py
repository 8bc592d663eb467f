# SPDX-License-Identifier: BSD-3-Clause
"""Puts, gets, strides, signals, contexts and atomics, of every type: each PE checks its own results."""
import array
import ctypes

from common import check, equal, main, numpy, pgas

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64", "longdouble"]


def elements(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    for name in INTEGERS + FLOATS:
        x = pgas.zeros(8, name)
        equal(x.tolist(), [0] * 8, f"zeros of {name}")
        pgas.barrier_all()
        there = x.at(right)
        there.p(me + 1)
        there.p(7, -1)
        there[1] = me + 2
        x.p(me + 3, right, 2)
        pgas.barrier_all()
        equal(list(x.local)[:3], [left + 1, left + 2, left + 3], f"p of {name}")
        equal((there.g(), there[1], x.g(right, 2), there.g(-1)), (me + 1, me + 2, me + 3, 7), f"g of {name}")
        pgas.barrier_all()
        there.put(x.tolist()[:1] * 3, 4)
        pgas.barrier_all()
        equal(x.tolist()[4:7], [(left - 1) % n + 1] * 3, f"a list into {name}")
        x.free()
    low, high = pgas.zeros(2, "int64"), pgas.zeros(2, "uint64")
    low.p(-(1 << 63), right)
    high.p((1 << 64) - 1, right)
    pgas.barrier_all()
    equal((low[0], high[0]), (-(1 << 63), (1 << 64) - 1), "the ends of the range")
    equal((low.g(right), high.g(right)), (-(1 << 63), (1 << 64) - 1), "and got")
    not_a_number = pgas.zeros(1)
    not_a_number.p(float("nan"), right)
    pgas.barrier_all()
    check(not_a_number[0] != not_a_number[0], "nan")
    for x in (low, high, not_a_number):
        x.free()


def several(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    x = pgas.full(20000, me, "int32")
    equal((x[0], x[19999]), (me, me), "full")
    pgas.barrier_all()
    there = x.at(right)
    mine = array.array("i", range(me, me + 20000))
    there.put(mine)                              # long: Python's lock is released
    pgas.barrier_all()
    equal((x[0], x[19999]), (left, left + 19999), "a long put of array.array")
    got = there.get()
    equal((len(got), got[7]), (20000, me + 7), "a get of everything")
    equal(list(there.get(5, 3)), [me + 5, me + 6, me + 7], "a get of some")
    dest = (ctypes.c_int32 * 4)()
    check(there.get(2, dest=dest) is dest and list(dest) == [me + 2, me + 3, me + 4, me + 5], "a get into ctypes")
    pgas.barrier_all()
    there.put_nbi(array.array("i", [me] * 100), 100)   # nothing else refers to its memory
    into = array.array("i", bytes(40))
    there.get_nbi(into, 300)
    pgas.quiet()
    pgas.barrier_all()
    equal(list(x[100:200]), [left] * 100, "put_nbi")
    equal(list(into), list(range(me + 300, me + 310)), "get_nbi")
    there.put(bytes(8), 10)
    pgas.barrier_all()
    equal((x[9], x[10], x[11], x[12]), (left + 9, 0, 0, left + 12), "bytes are taken as they are")
    y = pgas.zeros(3, "int32")
    y[:] = [me, me + 1, me + 2]
    there.put(y, 50)
    pgas.barrier_all()
    equal(list(x[50:53]), [left, left + 1, left + 2], "a symmetric source")
    x.free()
    y.free()
    long = pgas.zeros(1 << 20, "int32")
    long.at(right).put_nbi(array.array("i", [me + 1]) * long.size)  # read from its place, as it is sent
    others = [array.array("i", [-1]) * long.size for _ in range(3)]
    pgas.quiet()
    pgas.barrier_all()
    equal(set(long.tolist()), {left + 1}, "a long put_nbi, whose source nobody else keeps")
    long.free()
    del others


def like_numpy(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    x = pgas.zeros((4, 6), "int64")
    there = x.at(right)
    there[0] = list(range(6))
    there[1, 2:5] = [me, me, me]
    there[2, ::2] = [1, 2, 3]
    there[3, -1] = 9
    there[2:3] = list(there[2])
    pgas.barrier_all()
    rows = there.get()
    rows = [list(rows[6 * row:6 * row + 6]) for row in range(4)]
    equal(rows, [[0, 1, 2, 3, 4, 5], [0, 0, me, me, me, 0], [1, 0, 2, 0, 3, 0], [0, 0, 0, 0, 0, 9]], "what was put")
    equal(list(there[1, 2:5]), [me] * 3, "a part of a row")
    equal(list(there[0, 1::2]), [1, 3, 5], "a part with gaps")
    equal((there[3, 5], there.g(23), there.g((3, 5))), (9, 9, 9), "an element by any of its indices")
    if numpy:
        equal(there[1:3].shape, (2, 6), "rows")
        equal(there[1].tolist(), [0, 0, me, me, me, 0], "a row")
    pgas.barrier_all()
    there[0:2] = -1
    pgas.barrier_all()
    equal([x.at(me).g(i) for i in range(13)], [-1] * 12 + [1], "one number for several elements")
    near = there.local
    if near is not None:
        check(near[3, 5] == 9, "the memory of a neighbour")
    x.free()


def signals(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    box, flag = pgas.zeros(1000), pgas.zeros(3, "uint64")
    there = box.at(right)
    for turn in range(1, 11):
        there.put_signal([float(me + turn)] * 1000, flag, 1, add=True, signal_index=1, nbi=turn % 2 == 0)
        equal(flag.signal_wait_until(">=", turn, 1), turn, "the value of the signal")
        equal((box[0], box[999]), (left + turn, left + turn), "what came with it")
        pgas.quiet()
        pgas.barrier_all()
    flag.at(right).signal_set(5)
    flag.at(right).signal_add(2, 2)
    flag.wait_until("==", 5)
    flag.wait_until_all("!=", 0, start=1)
    equal((flag.signal_fetch(0), flag.signal_fetch(2)), (5, 2), "signal_set and signal_add")
    box.free()
    flag.free()


def contexts(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    x = pgas.zeros(10)
    with pgas.Context(private=True) as context:
        there = context.at(x, right)
        there.p(me + 0.5)
        there.put([1.0, 2.0], 1)
        context.fence()
        there.put_nbi(array.array("d", [7.0] * 3), 4)
        context.quiet()
        context.pe_quiet([right])
        equal(there.g(), me + 0.5, "g by a context")
    pgas.barrier_all()
    equal(x.tolist()[:7], [left + 0.5, 1, 2, 0, 7, 7, 7], "puts by a context")
    x.free()


def atomics(me, n):
    for name in ("int32", "int64", "uint32", "uint64"):
        x = pgas.zeros(4, name)
        there = x.at(0)
        there.atomic_add(me + 1)
        there.atomic_inc(1)
        there.atomic_or(1 << me, 2)
        pgas.barrier_all()
        equal(there.atomic_fetch(), n * (n + 1) // 2, f"the sum of {name}")
        equal(there.atomic_fetch(1), n, f"inc of {name}")
        equal(there.atomic_fetch(2), (1 << n) - 1, f"or of {name}")
        own = x.at(me)
        pgas.barrier_all()
        equal(own.atomic_swap(40, 3), 0, "swap")
        equal(own.atomic_fetch_add(2, 3), 40, "fetch_add")
        equal(own.atomic_fetch_inc(3), 42, "fetch_inc")
        equal(own.atomic_compare_swap(0, 1, 3), 43, "compare_swap of another value")
        equal(own.atomic_compare_swap(43, 12, 3), 43, "compare_swap")
        equal(own.atomic_fetch_and(10, 3), 12, "fetch_and")
        equal(own.atomic_fetch_or(1, 3), 8, "fetch_or")
        equal(own.atomic_fetch_xor(3, 3), 9, "fetch_xor")
        own.atomic_xor(3, 3)
        own.atomic_and(1, -1)
        own.atomic_set(own.atomic_fetch(3) + 5, 3)
        equal(x[3], 6, "the last value")
        x.free()
    x = pgas.zeros(1, "float64")
    x.at(me).atomic_set(2.5)
    equal((x.at(me).atomic_swap(3.5), x.at(me).atomic_fetch()), (2.5, 3.5), "atomics of float64")
    x.free()


main(elements, several, like_numpy, signals, contexts, atomics)
