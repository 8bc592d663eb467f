# SPDX-License-Identifier: BSD-3-Clause
"""Teams, collectives, waits and locks: each PE checks its own results."""
import threading

from common import check, equal, main, numpy, pgas

world = pgas.world


def reductions(me, n):
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        x, y = pgas.array([me, 1, 2], name), pgas.zeros(3, name)
        world.reduce(y, x)
        equal(y.tolist(), [n * (n - 1) // 2, n, 2 * n], f"the sum of {name}")
        for op, expected in (("max", [n - 1, 1, 2]), ("min", [0, 1, 2]), ("prod", [0, 1, 2 ** n]),
                             ("or", [_or(n), 1, 2]), ("and", [0, 1, 2]), ("xor", [_xor(n), n % 2, 2 * (n % 2)])):
            pgas.sync_all()
            world.reduce(y, x, op)
            equal(y.tolist(), expected, f"{op} of {name}")
        world.reduce(x, op="max", count=1)
        equal(x.tolist(), [n - 1, 1, 2], "in place, of one element")
        x.free()
        y.free()
    for name in ("float32", "float64", "longdouble"):
        x = pgas.array([me + 0.5], name)
        world.reduce(x)
        equal(x.tolist(), [n * (n - 1) / 2 + n / 2], f"the sum of {name}")
        x.free()
    if numpy:
        for name in ("complex64", "complex128"):
            x = pgas.array([me + 2j], name)
            world.reduce(x)
            equal(x[0], n * (n - 1) / 2 + 2j * n, f"the sum of {name}")
            x.free()
    x, y = pgas.array([me + 1], "int64"), pgas.zeros(1, "int64")
    world.scan(y, x)
    equal(y[0], (me + 1) * (me + 2) // 2, "an inclusive scan")
    world.scan(y, x, inclusive=False)
    equal(y[0], me * (me + 1) // 2, "an exclusive scan")
    x.free()
    y.free()


def _or(n):
    return 0 if n == 1 else (1 << (n - 1).bit_length()) - 1


def _xor(n):
    result = 0
    for number in range(n):
        result ^= number
    return result


def movers(me, n):
    x, every = pgas.array([me, -me], "int32"), pgas.zeros(2 * n, "int32")
    world.fcollect(every, x)
    equal(every.tolist(), [v for pe in range(n) for v in (pe, -pe)], "fcollect")
    got = pgas.zeros(2, "int32")
    world.broadcast(got, x, root=n - 1)
    equal(got.tolist(), [n - 1, 1 - n], "broadcast")
    world.gather(every, x, root=0)
    if me == 0:
        equal(every.tolist(), [v for pe in range(n) for v in (pe, -pe)], "gather")
    for i in range(2 * n):
        every[i] = 100 * me + i
    pgas.sync_all()
    world.scatter(got, every, root=n - 1)
    equal(got.tolist(), [100 * (n - 1) + 2 * me, 100 * (n - 1) + 2 * me + 1], "scatter")
    other = pgas.zeros(2 * n, "int32")
    world.alltoall(other, every)
    equal(other.tolist(), [100 * pe + 2 * me + i for pe in range(n) for i in (0, 1)], "alltoall")
    uneven = pgas.zeros(n * (n + 1) // 2, "int32")
    mine = pgas.full(n, me, "int32")
    world.collect(uneven, mine, count=me + 1)
    equal(uneven.tolist(), [pe for pe in range(n) for _ in range(pe + 1)], "collect")
    counts = [1] * n
    world.alltoallv(other, counts, list(range(n)), every, counts, list(reversed(range(n))))
    equal(other.tolist()[:n], [100 * pe + n - 1 - me for pe in range(n)], "alltoallv")
    for a in (x, every, got, other, uneven, mine):
        a.free()


def teams(me, n):
    equal((world.my_pe, world.n_pes), (me, n), "the world")
    check(pgas.shared.n_pes <= n, "the PEs of this host")
    evens = world.split_strided(0, 2, (n + 1) // 2)
    check((evens is None) == (me % 2 == 1), "members of the team")
    x, y = pgas.array([me], "int64"), pgas.zeros(1, "int64")
    if evens is not None:
        equal((evens.my_pe, evens.translate(evens.my_pe, world)), (me // 2, me), "numbers in the team")
        evens.reduce(y, x, "max")
        equal(y[0], (n - 1) // 2 * 2, "the largest of the team")
        evens.sync()
        with evens.context() as context:
            context.at(y, (evens.my_pe + 1) % evens.n_pes).p(me)
            context.quiet()
            evens.sync()
            equal(y[0], (evens.my_pe - 1) % evens.n_pes * 2, "a put by a context of the team")
        evens.destroy()
    backwards = world.split_color(0, key=n - me)
    equal(backwards.my_pe, n - 1 - me, "numbers by key")
    check(world.split_color(None) is None, "no color")
    last = world.create_group([n - 1])
    check((last is not None) == (me == n - 1), "a group of one")
    row, column = world.split_2d(2)
    equal((row.my_pe, column.my_pe), (me % 2, me // 2), "row and column")
    for team in (backwards, last, row, column):
        if team is not None:
            team.destroy()
    x.free()
    y.free()


def waits(me, n):
    flags = pgas.zeros(n, "int32")
    for pe in range(n):
        flags.p(me + 1, pe, me)
    flags.wait_until_all("!=", 0)
    equal(flags.tolist(), list(range(1, n + 1)), "flags of all PEs")
    check(flags.test("==", me + 1, me) and not flags.test("<", 1, me), "test")
    check(flags.test_all(">", 0) and not flags.test_all(">", 1), "test_all")
    equal(flags.test_any("==", n), n - 1, "test_any")
    equal(flags.test_any("==", n + 1), None, "test_any of none")
    equal(flags.wait_until_any("<=", n, status=[1] * (n - 1) + [0]), n - 1, "wait_until_any, all but one left out")
    equal(flags.wait_until_some(">=", n), [n - 1], "wait_until_some")
    equal(flags.test_some("==", list(range(1, n + 1))), list(range(n)), "test_some, a value for each")
    flags.wait_until_all("==", list(range(1, n + 1)))
    pgas.barrier_all()
    # another thread runs while this one waits
    word, done = pgas.zeros(1, "int64"), []
    thread = threading.Thread(target=lambda: (done.append(1), word.at(me).p(3)))
    thread.start()
    word.wait_until("==", 3)
    thread.join()
    equal(done, [1], "the other thread")
    flags.free()
    word.free()


def locks(me, n):
    lock, total = pgas.Lock(), pgas.zeros(1, "int64")
    for _ in range(5):
        with lock:
            total.p(total.g(0) + 1, 0)
    pgas.barrier_all()
    equal(total.g(0), 5 * n, "what the lock protects")
    pgas.barrier_all()
    if me == 0:
        check(lock.acquire(blocking=False), "a free lock")
        lock.release()
    total.free()
    lock.free()


main(reductions, movers, teams, waits, locks)
