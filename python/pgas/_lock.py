# SPDX-License-Identifier: BSD-3-Clause
"""Locks that all PEs share."""
from __future__ import annotations

from typing import Any

from ._array import zeros
from ._library import c_int, library, pointer


class Lock:
    """A lock; made and freed by all PEs together. with lock: ... holds it."""

    def __init__(self) -> None:
        self._word = zeros(1, "int64")

    def acquire(self, blocking: bool = True) -> bool:
        """Waits for the lock, or with blocking=False tries to get it. Returns whether this PE has it."""
        address = self._word.address
        if blocking:
            library.bind("shmem_set_lock", None, pointer)(address)
            return True
        return not library.bind("shmem_test_lock", c_int, pointer)(address)

    def release(self) -> None:
        """Completes this PE's operations, and gives the lock to the next one."""
        library.bind("shmem_clear_lock", None, pointer)(self._word.address)

    def free(self) -> None:
        """Ends the lock. Collective."""
        self._word.free()

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *failure: Any) -> None:
        self.release()
