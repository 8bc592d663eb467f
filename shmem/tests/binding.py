# SPDX-License-Identifier: BSD-3-Clause
"""What a Python binding of OpenSHMEM does, by ctypes: loads libsma while the program runs, starts it with a thread
level, lays buffers over symmetric memory, and moves data by every kind of call. Each PE checks its own results.

    oshrun -n 4 python3 binding.py /path/of/libsma.so
"""
import ctypes
import sys
from ctypes import byref, c_double, c_int, c_long, c_size_t, c_uint64, c_void_p

sma = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
CMP_GE, SIGNAL_SET = 3, 0
WORLD, INVALID = c_void_p(64), None  # shmem.h: handles are numbers

for name, result in (("shmem_malloc", c_void_p), ("shmem_calloc", c_void_p), ("shmem_ptr", c_void_p),
                     ("shmem_long_g", c_long), ("shmem_long_atomic_fetch_add", c_long),
                     ("shmem_long_atomic_compare_swap", c_long), ("shmem_double_g", c_double),
                     ("shmem_signal_wait_until", c_uint64), ("shmem_signal_fetch", c_uint64)):
    getattr(sma, name).restype = result

checks = 0


def check(good, what):
    global checks
    checks += 1
    if not good:
        print(f"PE {sma.shmem_my_pe()}: wrong: {what}", file=sys.stderr, flush=True)
        sma.shmem_global_exit(c_int(1))


def array(kind, count):
    """A buffer of symmetric memory, as numpy's arrays would lie on it."""
    address = sma.shmem_calloc(c_size_t(count), c_size_t(ctypes.sizeof(kind)))
    check(address, "shmem_calloc")
    return (kind * count).from_address(address)


def free(buffer):
    sma.shmem_free(c_void_p(ctypes.addressof(buffer)))


def transfers(me, n):
    right, left = (me + 1) % n, (me - 1) % n
    box, mine = array(c_double, 100), (c_double * 100)(*[me + i / 2 for i in range(100)])
    sma.shmem_double_put(box, mine, c_size_t(100), c_int(right))
    sma.shmem_barrier_all()
    check(list(box) == [left + i / 2 for i in range(100)], "shmem_double_put")
    view = memoryview(box).cast("B").cast("d")
    check(view[99] == left + 99 / 2, "a memoryview of symmetric memory")
    check(sma.shmem_double_g(byref(box, 8), c_int(right)) == me + 0.5, "shmem_double_g")
    got = (c_double * 100)()
    sma.shmem_getmem_nbi(got, box, c_size_t(800), c_int(right))
    sma.shmem_quiet()
    check(got[10] == me + 5, "shmem_getmem_nbi")
    sma.shmem_barrier_all()
    word = array(c_long, 1)
    sma.shmem_long_atomic_fetch_add(word, c_long(me + 1), c_int(0))
    sma.shmem_barrier_all()
    check(sma.shmem_long_g(word, c_int(0)) == n * (n + 1) // 2, "shmem_long_atomic_fetch_add")
    sma.shmem_barrier_all()
    old = sma.shmem_long_atomic_compare_swap(word, c_long(word[0]), c_long(-5), c_int(me))
    check(old >= 0 and word[0] == -5, "shmem_long_atomic_compare_swap")
    signal = array(c_uint64, 1)
    sma.shmem_double_put_signal(box, mine, c_size_t(5), signal, c_uint64(9), c_int(SIGNAL_SET), c_int(right))
    check(sma.shmem_signal_wait_until(signal, c_int(CMP_GE), c_uint64(9)) == 9, "shmem_signal_wait_until")
    check(box[1] == left + 0.5, "shmem_double_put_signal")
    sma.shmem_barrier_all()
    for buffer in (box, word, signal):
        free(buffer)


def contexts(me, n):
    ctx, words = c_void_p(), array(c_long, 4)
    check(sma.shmem_ctx_create(c_long(2), byref(ctx)) == 0, "shmem_ctx_create")
    sma.shmem_ctx_long_p(ctx, words, c_long(me), c_int((me + 1) % n))
    sma.shmem_ctx_quiet(ctx)
    sma.shmem_ctx_destroy(ctx)
    sma.shmem_barrier_all()
    check(words[0] == (me - 1) % n, "shmem_ctx_long_p")
    lock, total = array(c_long, 1), array(c_long, 1)
    for _ in range(5):
        sma.shmem_set_lock(lock)
        sma.shmem_long_p(total, c_long(sma.shmem_long_g(total, c_int(0)) + 1), c_int(0))
        sma.shmem_quiet()
        sma.shmem_clear_lock(lock)
    sma.shmem_barrier_all()
    check(sma.shmem_long_g(total, c_int(0)) == 5 * n, "shmem_set_lock")
    sma.shmem_barrier_all()
    for buffer in (words, lock, total):
        free(buffer)


def teams(me, n):
    source, answer, every = array(c_long, 2), array(c_long, 2), array(c_long, 2 * n)
    source[:] = [me, 2 * me]
    sma.shmem_sync_all()
    check(sma.shmem_long_sum_reduce(WORLD, answer, source, c_size_t(2)) == 0, "shmem_long_sum_reduce")
    check(list(answer) == [n * (n - 1) // 2, n * (n - 1)], "the sums")
    check(sma.shmem_long_fcollect(WORLD, every, source, c_size_t(2)) == 0, "shmem_long_fcollect")
    check(list(every) == [x for pe in range(n) for x in (pe, 2 * pe)], "what was collected")
    sma.shmem_sync_all()
    check(sma.shmem_broadcastmem(WORLD, answer, source, c_size_t(16), c_int(n - 1)) == 0, "shmem_broadcastmem")
    check(list(answer) == [n - 1, 2 * n - 2], "what was broadcast")
    sma.shmem_barrier_all()
    evens = c_void_p()
    made = sma.shmem_team_split_strided(WORLD, c_int(0), c_int(2), c_int((n + 1) // 2), None, c_long(0), byref(evens))
    check(made == 0, "shmem_team_split_strided")
    check((evens.value is INVALID) == (me % 2 == 1), "members of the team")
    if evens.value is not INVALID:
        check(sma.shmem_long_max_reduce(evens, answer, source, c_size_t(1)) == 0, "shmem_long_max_reduce")
        check(answer[0] == (n - 1) // 2 * 2, "the largest of the team")
        sma.shmem_team_destroy(evens)
    sma.shmem_barrier_all()
    for buffer in (source, answer, every):
        free(buffer)


def main():
    provided = c_int(-1)
    check(sma.shmem_init_thread(c_int(3), byref(provided)) == 0 and provided.value == 3, "shmem_init_thread")
    me, n = sma.shmem_my_pe(), sma.shmem_n_pes()
    check(0 <= me < n, "shmem_my_pe")
    transfers(me, n)
    contexts(me, n)
    teams(me, n)
    if me == 0:
        print(f"{checks} checks passed", flush=True)
    sma.shmem_finalize()


main()
