#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A message goes around the PEs: each one gets it by put with signal, adds its number, and passes it on.

    python3 -m pgas -n 4 ring.py
"""
import pgas

pgas.init()
me, n = pgas.my_pe(), pgas.n_pes()
message = pgas.zeros(1000, "int64")         # symmetric: the same on all PEs
arrived = pgas.zeros(1, "uint64")           # a signal
right = message.at((me + 1) % n)            # the array of the neighbour

for turn in range(1, 11):
    if me == 0:
        right.put_signal([turn] * 1000, arrived, turn)
    arrived.signal_wait_until("==", turn)
    if me != 0:
        right.put_signal([value + me for value in message.tolist()], arrived, turn)

wanted = 10 + sum(range(n))
if me == 0:
    if message.tolist() != [wanted] * 1000:
        raise SystemExit(f"wrong: {message[0]}, expected {wanted}")
    print(f"ring: {n} PEs, 10 turns, the last message is {message[0]}")
message.free()
arrived.free()
pgas.finalize()
