#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a plate, with numpy: rows are shared out among the PEs, each puts its outer rows into its neighbours.

    python3 -m pgas -n 4 heat.py
"""
import numpy
import pgas

ROWS, COLUMNS, STEPS = 60, 80, 200

pgas.init()
me, n = pgas.my_pe(), pgas.n_pes()
if n > ROWS:
    raise SystemExit(f"{n} PEs have less than a row each")
top, bottom = me * ROWS // n, (me + 1) * ROWS // n  # the rows of this PE
inner, above = bottom - top, top - (me - 1) * ROWS // n
rows = -(-ROWS // n)                                # at most; arrays have the same shape on all PEs
plate = [pgas.zeros((rows + 2, COLUMNS)) for _ in range(2)]
arrived = pgas.zeros(2, "uint64")                   # rows from above and from below
if me == 0:
    for half in plate:
        half[0, :] = 100.0                          # the upper edge is hot

for step in range(1, STEPS + 1):
    old, new = plate[step % 2].local, plate[1 - step % 2]
    mine = new.local
    mine[1:inner + 1, 1:-1] = (old[:inner, 1:-1] + old[2:inner + 2, 1:-1] + old[1:inner + 1, :-2]
                               + old[1:inner + 1, 2:]) / 4
    if me > 0:
        new.at(me - 1).put_signal(mine[1], arrived, step, (above + 1, 0), signal_index=1)
    if me < n - 1:
        new.at(me + 1).put_signal(mine[inner], arrived, step, (0, 0), signal_index=0)
    if me > 0:
        arrived.signal_wait_until(">=", step, 0)
    if me < n - 1:
        arrived.signal_wait_until(">=", step, 1)

total = pgas.array([mine[1:inner + 1].sum()])
pgas.world.reduce(total)

# the same by one process
old = numpy.zeros((ROWS + 2, COLUMNS))
old[0] = 100.0
for step in range(STEPS):
    new = old.copy()
    new[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
    old = new
if not numpy.allclose(mine[1:inner + 1], old[top + 1:bottom + 1]):
    raise SystemExit(f"PE {me}: wrong")
if me == 0:
    print(f"heat: {n} PEs agree with one, the sum is {total[0]:.3f}")
pgas.finalize()
