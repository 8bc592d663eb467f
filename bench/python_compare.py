#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls from Python beside the same calls from C (python_rows.c), in nanoseconds: the best and the median of all
samples. In the top build folder, in a shell that has read env.sh:

    python3 ../bench/python_compare.py [--pes N] [--rounds N]

C and Python take turns, so that both see the same machine.
"""
import argparse
import shutil
import statistics
import subprocess
import sys
import time

ROWS = {"p": "put of 8 bytes, there.p(value)", "item": "put of 8 bytes, there[0] = value",
        "put": "put of 8 bytes, there.put(array)", "store": "store into there.local[0]",
        "g": "get of 8 bytes, there.g()", "fetch_add": "there.atomic_fetch_add(value)",
        "sum8": "sum of 8 bytes over all PEs", "sum64K": "sum of 64 KiB", "sum1M": "sum of 1 MiB"}
SAMPLES = 200


def timed(name, calls, loop):
    """Prints one sample: ns per call of a loop that makes so many calls."""
    begin = time.perf_counter_ns()
    loop(calls)
    if pgas.my_pe() == 0:
        print(name, (time.perf_counter_ns() - begin) / calls)


def single_rows():
    """Operations on one element of the next PE, by PE 0 alone."""
    x = pgas.zeros(1, "int64")
    there = x.at((pgas.my_pe() + 1) % pgas.n_pes())
    near = there.local

    def p(calls):
        for i in range(calls):
            there.p(i)

    def item(calls):
        for i in range(calls):
            there[0] = i

    def put(calls):
        for _ in range(calls):
            there.put(x)

    def store(calls):
        for i in range(calls):
            near[0] = i

    def g(calls):
        for _ in range(calls):
            there.g()

    def fetch_add(calls):
        for i in range(calls):
            there.atomic_fetch_add(i)

    for _ in range(SAMPLES if pgas.my_pe() == 0 else 0):
        for loop in (p, item, put, g, fetch_add) + ((store,) if near is not None else ()):
            timed(loop.__name__, 1000, loop)
    pgas.barrier_all()


def sum_rows():
    """Sums over all PEs."""
    source, dest = pgas.zeros(1 << 17), pgas.zeros(1 << 17)
    for name, count, calls in (("sum8", 1, 100), ("sum64K", 1 << 13, 10), ("sum1M", 1 << 17, 2)):
        def loop(number, count=count):
            for _ in range(number):
                pgas.world.reduce(dest, source, "sum", count)

        for _ in range(SAMPLES):
            pgas.barrier_all()
            timed(name, calls, loop)


def collect(samples, command):
    for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, value = line.split()
        samples.setdefault(name, []).append(float(value))


def compare():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pes", type=int, default=2)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--c-rows", default="bench/python_rows", help="the program in C (%(default)s)")
    given = options.parse_args()
    launch = [shutil.which("oshrun") or sys.exit("no oshrun in PATH: . build/env.sh"), "-n", str(given.pes)]
    in_c, in_python = {}, {}
    for _ in range(given.rounds):
        collect(in_c, [*launch, given.c_rows])
        collect(in_python, [*launch, sys.executable, __file__, "--rows"])
    print(f"{given.pes} PEs, Python {sys.version.split()[0]}, ns per call, best and median of {given.rounds} rounds")
    print(f"{'':34}{'C':>20}{'Python':>20}{'longer by':>11}")
    for name, title in ROWS.items():
        cells = [f"{min(found):10.0f}{statistics.median(found):10.0f}" if found else " " * 20
                 for found in (in_c.get(name), in_python.get(name))]
        both = name in in_c and name in in_python
        more = f"{min(in_python[name]) - min(in_c[name]):11.0f}" if both else ""
        print(f"{title:34}{cells[0]}{cells[1]}{more}")


if sys.argv[1:] == ["--rows"]:
    import pgas

    pgas.init()
    single_rows()
    sum_rows()
    pgas.finalize()
else:
    compare()
