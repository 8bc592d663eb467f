# SPDX-License-Identifier: BSD-3-Clause
"""What the test programs share: checks that end the job, and --no-numpy, which hides numpy from the package."""
import sys
import traceback

if "--no-numpy" in sys.argv:
    sys.modules["numpy"] = None

try:
    import numpy
except ImportError:
    numpy = None

import pgas  # noqa: E402  (after numpy is hidden)

checks = 0


def check(good, what):
    global checks
    checks += 1
    if not good:
        where = [frame for frame in traceback.extract_stack() if not frame.filename.endswith("common.py")][-1]
        me = pgas.my_pe() if pgas.is_initialized() else "?"
        print(f"PE {me}: {where.filename}:{where.lineno}: wrong: {what}", file=sys.stderr, flush=True)
        if pgas.is_initialized():
            pgas.global_exit(1)
        sys.exit(1)


def equal(got, expected, what):
    check(got == expected, f"{what}: {got!r}, expected {expected!r}")


def raises(kind, words, call, *arguments, **named):
    """The call must raise this exception, with these words in its message, and do nothing else."""
    try:
        call(*arguments, **named)
    except kind as error:
        check(words in str(error), f"the message {error!s} has no {words!r}")
    except Exception as error:  # noqa: BLE001
        check(False, f"{type(error).__name__}: {error}; expected {kind.__name__} with {words!r}")
    else:
        check(False, f"no {kind.__name__} with {words!r}")


def main(*parts):
    pgas.init()
    me, n = pgas.my_pe(), pgas.n_pes()
    for part in parts:
        part(me, n)
        pgas.barrier_all()
    if me == 0:
        print(f"{checks} checks passed, {'with' if numpy else 'without'} numpy", flush=True)
    pgas.finalize()
