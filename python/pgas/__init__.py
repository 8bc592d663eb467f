# SPDX-License-Identifier: BSD-3-Clause
"""OpenSHMEM 1.6 for Python: symmetric arrays that are numpy arrays without a copy, over libsma.

    import pgas
    pgas.init()
    x = pgas.zeros(1000)                  # on all PEs; x.local is a numpy array
    x.at(1)[0] = 5.0                      # a put to PE 1
    pgas.barrier_all()
    pgas.world.reduce(x)                  # the sum over all PEs

python3 -m pgas -n 4 script.py starts it on four PEs; oshrun, mpirun and srun do so, too. docs/PYTHON.md has examples.
"""
from ._array import Array, array, empty, full, sync_all, zeros
from ._context import Context, default_context, fence, quiet
from ._errors import Error, LibraryError
from ._job import (THREAD_FUNNELED, THREAD_MULTIPLE, THREAD_SERIALIZED, THREAD_SINGLE, finalize, global_exit, init,
                   is_initialized, my_pe, n_pes, pcontrol, wtime)
from ._library import library
from ._lock import Lock
from ._remote import Remote
from ._team import Team, barrier_all, shared, world

__version__ = "0.1.0"

__all__ = [
    "Array", "Context", "Error", "LibraryError", "Lock", "Remote", "THREAD_FUNNELED", "THREAD_MULTIPLE",
    "THREAD_SERIALIZED", "THREAD_SINGLE", "Team", "array", "barrier_all", "default_context", "empty", "fence",
    "finalize", "full", "global_exit", "init", "is_initialized", "library", "my_pe", "n_pes", "pcontrol", "quiet",
    "shared", "sync_all", "world", "wtime", "zeros",
]
