# SPDX-License-Identifier: BSD-3-Clause
"""Contexts: streams of operations that are ordered and completed by themselves. They keep the local memory of
non-blocking operations alive until quiet()."""
from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from ._errors import Error
from ._job import job
from ._library import c_int, c_long, c_size, library, pointer

if TYPE_CHECKING:
    from ._array import Array
    from ._remote import Remote
    from ._team import Team

_DEFAULT = 64  # SHMEM_CTX_DEFAULT
_SERIALIZED, _PRIVATE, _NOSTORE = 1, 2, 4
_WORLD = 64  # SHMEM_TEAM_WORLD


class Context:
    """A context of a team (default: of all PEs), whose PE numbers are those of the team.

    serialized: one thread at a time uses it; private: only the thread that made it; nostore: it does no put.
    """

    def __init__(self, team: Optional[Team] = None, *, serialized: bool = False, private: bool = False,
                 nostore: bool = False) -> None:
        self._handle = 0
        self.is_read_only = False
        self._remotes: Any = weakref.WeakSet()
        self._kept: List[Any] = []
        job.require()
        options = serialized * _SERIALIZED | private * _PRIVATE | nostore * _NOSTORE
        handle = ctypes.c_void_p()
        create = library.bind("shmem_team_create_ctx", c_int, pointer, c_long, ctypes.POINTER(ctypes.c_void_p))
        self._team_handle = _WORLD if team is None else team._require()
        if create(self._team_handle, options, ctypes.byref(handle)) or not handle.value:
            raise Error("the context could not be created")
        self._handle = handle.value
        self._team = team
        self.is_read_only = nostore
        job.contexts.add(self)

    @property
    def n_pes(self) -> int:
        return job.n_pes if self._team is None else self._team.n_pes

    def at(self, array: Array, pe: int) -> Remote:
        """The part of an array at a PE, by this context."""
        from ._remote import Remote

        return Remote(array, pe, self)

    def fence(self) -> None:
        """Orders: what was put before arrives at each PE before what is put later."""
        self._require()
        library.bind("shmem_ctx_fence", None, pointer)(self._handle)

    def quiet(self) -> None:
        """Waits until all operations of this context are complete."""
        self._require()
        kept, self._kept = self._kept, []
        library.bind("shmem_ctx_quiet", None, pointer)(self._handle)
        del kept

    def pe_quiet(self, pes: Sequence[int]) -> None:
        """Waits until all operations to these PEs are complete."""
        self._require()
        numbers = (c_int * len(pes))(*pes)
        for pe in pes:
            if not 0 <= pe < self.n_pes:
                raise ValueError(f"there is no PE {pe}; PEs are 0 to {self.n_pes - 1}")
        library.bind("shmem_ctx_pe_quiet", None, pointer, pointer, c_size)(self._handle, ctypes.addressof(numbers),
                                                                          len(pes))

    def destroy(self) -> None:
        """Completes all operations and ends the context. Not collective."""
        self._require()
        if self is default_context:
            raise Error("the default context cannot be destroyed")
        self._end("this context was destroyed", library.bind("shmem_ctx_destroy", None, pointer))

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *failure: Any) -> None:
        if self._handle and job.running:
            self.destroy()

    def _end(self, how: str = "pgas.finalize() has ended the job", destroy: Any = None) -> None:
        for remote in self._remotes:
            remote._end(how)
        if destroy:
            destroy(self._handle)
        self._kept = []
        if self is not default_context:
            self._handle = 0

    def _require(self) -> None:
        job.require()
        if not self._handle:
            raise Error("this context was destroyed, or ended by pgas.finalize()")

    def _keep(self, keeper: Any) -> None:
        self._kept.append(keeper)

    def _pointer(self, address: int, pe: int) -> Optional[int]:
        call = library.bind("shmem_team_ptr", pointer, pointer, pointer, c_int, short=True)
        return call(self._team_handle, address, pe)


class _Default(Context):
    """The context of all calls that name none."""

    def __init__(self) -> None:
        self._handle, self._team_handle, self._team = _DEFAULT, _WORLD, None
        self.is_read_only = False
        self._remotes, self._kept = weakref.WeakSet(), []


default_context: Context = _Default()
job.contexts.add(default_context)


def fence() -> None:
    """Orders the puts of the default context to each PE."""
    default_context.fence()


def quiet() -> None:
    """Completes all operations of the default context."""
    default_context.quiet()
