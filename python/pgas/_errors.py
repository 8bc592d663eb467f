# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions. Wrong arguments are TypeError, ValueError, IndexError and OverflowError, as everywhere in Python; a full
heap is MemoryError."""


class Error(RuntimeError):
    """What the job or the library cannot do: a call at the wrong time, memory that is not symmetric, a failed call."""


class LibraryError(Error, ImportError):
    """libsma, or oshrun, was not found, or is not of this project."""
