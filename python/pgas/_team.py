# SPDX-License-Identifier: BSD-3-Clause
"""Teams, and collectives over them. dest and source are symmetric: arrays, or numpy arrays and views that lie in
symmetric memory. All members make the same calls with the same counts, in the same order."""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ._array import Array, is_symmetric
from ._buffer import _numpy_span, _view_span
from ._context import Context, default_context
from ._errors import Error
from ._job import job
from ._library import c_int, c_long, c_size, library, pointer
from ._types import Kind, kind_of, numpy_or_none, same

_WORLD, _SHARED = 64, 64 + 1024  # SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED
_FAMILY = {"sum": "r_sum", "prod": "r_sum", "min": "r_cmp", "max": "r_cmp", "and": "r_bit", "or": "r_bit",
           "xor": "r_bit"}
_combining: Dict[Tuple[str, Kind], Any] = {}  # the functions of reductions and scans
_handle_result = ctypes.POINTER(ctypes.c_void_p)


def _symmetric(obj: Any, what: str) -> Tuple[int, int, Kind]:
    """Address, elements and type of symmetric memory."""
    if isinstance(obj, Array):
        if obj._gone:
            obj._require()
        return obj._address, obj._count, obj._kind
    numpy = numpy_or_none()
    if numpy and isinstance(obj, numpy.ndarray):
        kind = kind_of(obj.dtype)
        address, count, keeper = _numpy_span(obj, kind, what, False, True)
    else:
        try:
            kind = kind_of(memoryview(obj).format.lstrip("@=<"))
            address, count, keeper = _view_span(obj, kind, what, False)
        except TypeError:
            raise TypeError(f"{what} is a {type(obj).__name__}, expected a symmetric array") from None
    if not is_symmetric(address, count * kind.size):
        raise Error(f"{what} is not in symmetric memory: make it by pgas.zeros() or pgas.empty()")
    return address, count, kind


class Team:
    """A set of PEs, numbered from 0. pgas.world has all of them, pgas.shared those that can share memory."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._job = job.jobs

    def __repr__(self) -> str:
        state = f"PE {self.my_pe} of {self.n_pes}" if self._handle and job.running else "ended"
        return f"<pgas team, {state}>"

    def _require(self) -> int:
        job.require()
        if not self._handle or self._job != job.jobs and self._handle not in (_WORLD, _SHARED):
            raise Error("this team was destroyed, or ended by pgas.finalize()")
        return self._handle

    def _ask(self, name: str) -> int:
        return library.bind(name, c_int, pointer, short=True)(self._require())

    @property
    def my_pe(self) -> int:
        """The number of this PE in the team."""
        return self._ask("shmem_team_my_pe")

    @property
    def n_pes(self) -> int:
        return self._ask("shmem_team_n_pes")

    def translate(self, pe: int, other: Team) -> Optional[int]:
        """The number that the other team has for a PE of this team; None if it is no member."""
        call = library.bind("shmem_team_translate_pe", c_int, pointer, c_int, pointer, short=True)
        found = call(self._require(), operator.index(pe), other._require())
        return None if found < 0 else found

    # new teams: collective over this one

    def split_strided(self, start: int, stride: int, size: int) -> Optional[Team]:
        """The PEs start, start + stride, ... of this team. None on the PEs that are not among them."""
        call = library.bind("shmem_team_split_strided", c_int, pointer, c_int, c_int, c_int, pointer, c_long,
                            _handle_result)
        made = ctypes.c_void_p()
        return _new(call(self._require(), start, stride, size, None, 0, ctypes.byref(made)), made)

    def split_2d(self, xrange: int) -> Tuple[Optional[Team], Optional[Team]]:
        """The row and the column of this PE, in rows of xrange PEs."""
        call = library.bind("shmem_team_split_2d", c_int, pointer, c_int, pointer, c_long, _handle_result, pointer,
                            c_long, _handle_result)
        row, column = ctypes.c_void_p(), ctypes.c_void_p()
        status = call(self._require(), xrange, None, 0, ctypes.byref(row), None, 0, ctypes.byref(column))
        return _new(status, row), _new(status, column)

    def split_color(self, color: Optional[int], key: int = 0) -> Optional[Team]:
        """The PEs that gave the same color, ordered by key. None: this PE joins no team."""
        call = library.bind("shmemx_team_split_color", c_int, pointer, c_int, c_int, pointer, c_long, _handle_result)
        made = ctypes.c_void_p()
        if color is not None and color < 0:
            raise ValueError(f"color is {color}, expected 0 or more, or None")
        return _new(call(self._require(), -1 if color is None else color, key, None, 0, ctypes.byref(made)), made)

    def create_group(self, pes: Sequence[int]) -> Optional[Team]:
        """These PEs of this team, in this order. None on the others."""
        call = library.bind("shmemx_team_create_group", c_int, pointer, pointer, c_int, pointer, c_long,
                            _handle_result)
        made = ctypes.c_void_p()
        numbers = (ctypes.c_int * len(pes))(*pes)
        status = call(self._require(), ctypes.addressof(numbers), len(pes), None, 0, ctypes.byref(made))
        return _new(status, made)

    def destroy(self) -> None:
        """Ends the team, and its contexts. Collective over the team."""
        handle = self._require()
        if handle in (_WORLD, _SHARED):
            raise Error("a predefined team cannot be destroyed")
        for context in list(job.contexts):
            if context._team_handle == handle:
                context._end("the team of this context was destroyed")
        self._handle = 0
        library.bind("shmem_team_destroy", None, pointer)(handle)

    def context(self, **options: bool) -> Context:
        """A context in which PEs have the numbers of this team."""
        return Context(self, **options)

    # collectives

    def sync(self) -> None:
        """Waits until all members are here; completes no operation."""
        _check("sync", library.bind("shmem_team_sync", c_int, pointer)(self._require()))

    def reduce(self, dest: Any, source: Any = None, op: str = "sum", count: Optional[int] = None) -> None:
        """dest becomes the sum (prod, min, max, and, or, xor) of source over all members, element by element. source:
        dest itself, if it is not given."""
        if op not in _FAMILY:
            raise ValueError(f"op is {op!r}, expected one of {' '.join(_FAMILY)}")
        self._combine(f"{op}_reduce", _FAMILY[op], dest, source, count)

    def scan(self, dest: Any, source: Any = None, inclusive: bool = True, count: Optional[int] = None) -> None:
        """dest becomes the sum of source over the members before this one, and itself if inclusive."""
        self._combine("sum_inscan" if inclusive else "sum_exscan", "r_sum", dest, source, count)

    def broadcast(self, dest: Any, source: Any, root: int = 0, count: Optional[int] = None) -> None:
        """dest becomes, on all members, the source of root."""
        to, given, size, number = self._pair(dest, source, count, 1, 1)
        call = library.bind("shmem_broadcastmem", c_int, pointer, pointer, pointer, c_size, c_int)
        _check("broadcast", call(self._require(), to, given, number * size, self._member(root)))

    def fcollect(self, dest: Any, source: Any, count: Optional[int] = None) -> None:
        """dest becomes the sources of all members, one after the other; all have the same count."""
        to, given, size, number = self._pair(dest, source, count, self.n_pes, 1)
        call = library.bind("shmem_fcollectmem", c_int, pointer, pointer, pointer, c_size)
        _check("fcollect", call(self._require(), to, given, number * size))

    def collect(self, dest: Any, source: Any, count: Optional[int] = None) -> None:
        """The same, where each member may have another count; dest must have room for all."""
        to, given, size, number = self._pair(dest, source, count, 1, 1)
        call = library.bind("shmem_collectmem", c_int, pointer, pointer, pointer, c_size)
        _check("collect", call(self._require(), to, given, number * size))

    def alltoall(self, dest: Any, source: Any, count: Optional[int] = None) -> None:
        """Member i gets the i-th count elements of source, and puts them where its dest has this member's."""
        n = self.n_pes
        if count is None:
            count = _symmetric(source, "source")[1] // n
        to, given, size, number = self._pair(dest, source, count, n, n)
        call = library.bind("shmem_alltoallmem", c_int, pointer, pointer, pointer, c_size)
        _check("alltoall", call(self._require(), to, given, number * size))

    def alltoallv(self, dest: Any, dest_counts: Sequence[int], dest_displs: Sequence[int], source: Any,
                  source_counts: Sequence[int], source_displs: Sequence[int]) -> None:
        """Sends source_counts[i] elements from source_displs[i] on to member i, and receives dest_counts[i] from it,
        from dest_displs[i] on."""
        to, room, to_kind = _symmetric(dest, "dest")
        given, offered, kind = _symmetric(source, "source")
        _check_same(to_kind, kind)
        lists = []
        for name, counts, displs, limit in (("dest", dest_counts, dest_displs, room),
                                            ("source", source_counts, source_displs, offered)):
            if len(counts) != self.n_pes or len(displs) != self.n_pes:
                raise ValueError(f"{name}_counts and {name}_displs must have {self.n_pes} numbers, one per member")
            for count, displ in zip(counts, displs):
                if count < 0 or displ < 0 or displ + count > limit:
                    raise IndexError(f"{count} elements from {displ} on; {name} has {limit}")
            lists.append((c_size * self.n_pes)(*(count * kind.size for count in counts)))
            lists.append((c_size * self.n_pes)(*(displ * kind.size for displ in displs)))
        call = library.bind("shmemx_alltoallvmem", c_int, pointer, pointer, pointer, pointer, pointer, pointer, pointer)
        _check("alltoallv", call(self._require(), to, lists[0], lists[1], given, lists[2], lists[3]))

    def gather(self, dest: Any, source: Any, root: int = 0, count: Optional[int] = None) -> None:
        """dest of root becomes the sources of all members."""
        to, given, size, number = self._pair(dest, source, count, self.n_pes if self.my_pe == root else 0, 1)
        call = library.bind("shmemx_gathermem", c_int, pointer, pointer, pointer, c_size, c_int)
        _check("gather", call(self._require(), to, given, number * size, self._member(root)))

    def scatter(self, dest: Any, source: Any, root: int = 0, count: Optional[int] = None) -> None:
        """Member i gets the i-th count elements of source of root."""
        if count is None:
            count = _symmetric(dest, "dest")[1]
        to, given, size, number = self._pair(dest, source, count, 1, self.n_pes if self.my_pe == root else 0)
        call = library.bind("shmemx_scattermem", c_int, pointer, pointer, pointer, c_size, c_int)
        _check("scatter", call(self._require(), to, given, number * size, self._member(root)))

    # what collectives check

    def _combine(self, name: str, family: str, dest: Any, source: Any, count: Optional[int]) -> None:
        handle = self._require()
        to, room, kind = _symmetric(dest, "dest")
        given, offered = to, room
        if source is not None:
            given, offered, source_kind = _symmetric(source, "source")
            if source_kind is not kind:
                _check_same(kind, source_kind)
        number = offered if count is None else operator.index(count)
        if not 0 <= number <= room or number > offered:
            _check_room(number, room, offered)
        call = _combining.get((name, kind))
        if call is None:
            kind.require(family, name)
            call = library.bind(f"shmem_{kind.shmem}_{name}", c_int, pointer, pointer, pointer, c_size)
            _combining[name, kind] = call
        _check(name, call(handle, to, given, number))

    def _pair(self, dest: Any, source: Any, count: Optional[int], dest_times: int,
              source_times: int) -> Tuple[int, int, int, int]:
        """Addresses, size of an element, number of elements; both must have room for so many times that number."""
        self._require()
        to, room, to_kind = _symmetric(dest, "dest")
        given, offered, kind = _symmetric(source, "source")
        _check_same(to_kind, kind)
        number = offered if count is None else operator.index(count)
        _check_room(number, room, offered, dest_times, source_times)
        return to, given, kind.size, number

    def _member(self, root: int) -> int:
        if not 0 <= root < self.n_pes:
            raise ValueError(f"root is {root}; the members are 0 to {self.n_pes - 1}")
        return root


def _check_room(number: int, room: int, offered: int, dest_times: int = 1, source_times: int = 1) -> None:
    if number < 0:
        raise ValueError(f"count is {number}")
    for name, has, times in (("dest", room, dest_times), ("source", offered, source_times)):
        if number * times > has:
            raise ValueError(f"{name} has {has} elements; {number * times} are needed")


def _check_same(dest: Kind, source: Kind) -> None:
    if not same(dest, source):
        raise TypeError(f"dest has elements of {dest.name}, source of {source.name}")


def _check(name: str, status: int) -> None:
    if status:
        raise Error(f"{name} failed with status {status}")


def _new(status: int, made: Any) -> Optional[Team]:
    _check("making a team", status)
    return Team(made.value) if made.value else None


world = Team(_WORLD)
shared = Team(_SHARED)


def barrier_all() -> None:
    """Completes all operations of the default context, and waits until all PEs are here."""
    job.require()
    kept: List[Any] = default_context._kept
    default_context._kept = []
    library.bind("shmem_barrier_all", None)()
    del kept
