# SPDX-License-Identifier: BSD-3-Clause
"""Start and end of the job, and what the rest of the package knows of it.

A script that ends without finalize() is finalized by the library, if its status is 0; an uncaught exception ends the
job. Nothing here runs at Python's exit: only the library's own handler knows the status.
"""
from __future__ import annotations

import ctypes
import weakref
from typing import Any

from ._errors import Error
from ._library import c_int, library

THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = range(4)


class Job:
    """This PE, as long as the library is started. arrays: those whose memory ends with finalize(). inits: how often it
    was started and not ended; jobs: how often it ended."""

    running = False
    my_pe = -1
    n_pes = 0
    inits = 0
    jobs = 0

    def __init__(self) -> None:
        self.arrays: Any = weakref.WeakValueDictionary()  # by id(): == of arrays compares elements
        self.contexts: Any = weakref.WeakSet()

    def require(self) -> None:
        if not self.running:
            raise Error("pgas.init() was not called, or pgas.finalize() has ended the job")


job = Job()


def init(threads: int = THREAD_MULTIPLE) -> int:
    """Joins the job, and waits for the other PEs. Returns the thread level that is provided. May be called again;
    each call needs its finalize()."""
    if threads not in range(4):
        raise ValueError(f"threads is {threads!r}; expected one of pgas.THREAD_SINGLE to pgas.THREAD_MULTIPLE")
    provided = c_int(-1)
    library.bind("shmem_init_thread", c_int, c_int, ctypes.POINTER(c_int))(threads, ctypes.byref(provided))
    job.my_pe = library.bind("shmem_my_pe", c_int)()
    job.n_pes = library.bind("shmem_n_pes", c_int)()
    job.inits += 1
    job.running = True
    return provided.value


def finalize() -> None:
    """Leaves the job, when all PEs do so. Arrays end with it, and so do all numpy arrays and views of their memory."""
    job.require()
    job.inits -= 1
    if job.inits == 0:
        job.running = False
        job.jobs += 1
        for thing in (*job.arrays.values(), *job.contexts):
            thing._end()
        job.my_pe, job.n_pes = -1, 0
    library.bind("shmem_finalize", None)()


def is_initialized() -> bool:
    """Is the job running, whoever started it?"""
    answer = c_int(0)
    library.bind("shmem_query_initialized", None, ctypes.POINTER(c_int))(ctypes.byref(answer))
    return bool(answer.value)


def my_pe() -> int:
    """The number of this PE, from 0."""
    job.require()
    return job.my_pe


def n_pes() -> int:
    """The number of PEs of the job."""
    job.require()
    return job.n_pes


def global_exit(status: int = 1) -> None:
    """Ends the job at once, from any PE; the launcher's exit status is this one. Does not return."""
    job.require()
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    library.bind("shmem_global_exit", None, c_int)(status)


def wtime() -> float:
    """Seconds since a moment in the past that does not change."""
    return library.bind("shmemx_wtime", ctypes.c_double, short=True)()


def pcontrol(level: int) -> None:
    """Tells profiling tools: 0 off, 1 on, 2 write now."""
    library.bind("shmem_pcontrol", None, c_int)(level)
