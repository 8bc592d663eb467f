# SPDX-License-Identifier: BSD-3-Clause
"""Symmetric arrays: a block of the symmetric heap on every PE, with one shape and type.

The local part is a numpy array (x.local) or, without numpy, a memoryview; x[...] reads and writes it. x.at(pe) is the
part of another PE. Only free() gives the memory back, on all PEs together: a garbage collector runs on each PE when it
likes.
"""
from __future__ import annotations

import ctypes
import operator
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple, Union

from ._buffer import Span, read_span
from ._dlpack import CPU, make_capsule
from ._errors import Error
from ._job import job
from ._library import c_int, c_size, library, pointer
from ._operators import Operators, local_of
from ._remote import Remote
from ._types import Kind, kind_of, numpy_or_none, same
from ._wait import Waits

Shape = Union[int, Sequence[int]]


def _shape_of(shape: Shape) -> Tuple[int, ...]:
    try:
        extents: Tuple[int, ...] = (operator.index(shape),)  # type: ignore[arg-type]
    except TypeError:
        extents = tuple(operator.index(extent) for extent in shape)  # type: ignore[union-attr]
    if any(extent < 1 for extent in extents):
        raise ValueError(f"shape {shape!r}: every extent must be at least 1")
    return extents


class Array(Operators, Waits):
    """A symmetric array. Made by pgas.empty(), zeros(), full() and array(), on all PEs together."""

    def __init__(self, address: int, shape: Tuple[int, ...], kind: Kind) -> None:
        self._address = address
        self._kind = kind
        self._size = kind.size
        self._shape = shape
        self._count = 1
        for extent in shape:
            self._count *= extent
        self._remotes: Dict[int, Remote] = {}
        self._local: Any = None
        self._gone = ""
        job.arrays[id(self)] = self

    # what it is

    @property
    def shape(self) -> Tuple[int, ...]:
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._count

    @property
    def itemsize(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._count * self._size

    @property
    def kind(self) -> Kind:
        return self._kind

    @property
    def dtype(self) -> Any:
        """numpy's type, or its name where there is no numpy."""
        return self._kind.dtype if numpy_or_none() else self._kind.name

    @property
    def address(self) -> int:
        """Where it is on this PE, for C."""
        self._require()
        return self._address

    def __repr__(self) -> str:
        state = f", {self._gone}" if self._gone else ""
        return f"pgas.Array(shape={self._shape}, dtype={self._kind.name}{state})"

    def __len__(self) -> int:
        return self._shape[0]

    # its local part

    @property
    def local(self) -> Any:
        """The part of this PE, without a copy: a numpy array, or a memoryview without numpy. It ends with free()."""
        if self._local is None:
            self._require()
            self._local = _view(self._address, self._shape, self._kind)
        return self._local

    def __getitem__(self, index: Any) -> Any:
        return self.local[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        local = self.local
        if numpy_or_none():
            local[index] = value
        elif isinstance(index, slice):
            _assign(local, index, value, self._kind)
        else:
            local[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.local)

    def fill(self, value: Any) -> None:
        """Sets all elements of this PE."""
        if numpy_or_none():
            self.local.fill(value)
            return
        address, count, keeper = read_span(value, self._kind, "fill: value")
        if count != 1:
            raise ValueError(f"fill: {count} values, expected one")
        one = ctypes.string_at(address, self._size)
        ctypes.memmove(self.address, one * self._count, self.nbytes)

    def tolist(self) -> Any:
        """The elements of this PE, as a list."""
        local = self.local
        return local.tolist() if hasattr(local, "tolist") else list(local)

    # numpy, DLPack and buffers

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        self._require()
        if not numpy_or_none():
            raise AttributeError("__array_interface__ needs numpy, which is not installed")
        return self.local.__array_interface__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        numpy = numpy_or_none()
        local = self.local
        if dtype is not None and numpy.dtype(dtype) != local.dtype:
            if copy is False:
                raise ValueError(f"{self._kind.name} cannot become {dtype} without a copy")
            return local.astype(dtype)
        return local.copy() if copy else local

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        plain = tuple(local_of(x) for x in inputs)
        out = named.get("out")
        if out is not None:
            named["out"] = tuple(local_of(x) for x in out)
        result = getattr(ufunc, method)(*plain, **named)
        return out[0] if out is not None and len(out) == 1 else result

    def __buffer__(self, flags: int) -> memoryview:  # Python 3.12 and later
        return memoryview(self.local)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return CPU, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        self._require()
        if copy:
            raise BufferError("a symmetric array gives its memory, not a copy: copy the result")
        if dl_device is not None and tuple(dl_device) != (CPU, 0):
            raise BufferError(f"a symmetric array is in the memory of the CPU, not on device {dl_device}")
        return make_capsule(self._address, self._kind, self._shape, bool(max_version and max_version[0] >= 1))

    # the parts of other PEs

    def at(self, pe: int) -> Remote:
        """The part of a PE: at(pe)[i] gets, at(pe)[i] = value puts."""
        try:
            return self._remotes[pe]
        except (KeyError, TypeError):
            self._require()
            made = self._remotes[pe] = Remote(self, pe)
            return made

    def p(self, value: Any, pe: int, index: Any = 0) -> None:
        """Puts one element to a PE."""
        self.at(pe).p(value, index)

    def g(self, pe: int, index: Any = 0) -> Any:
        """Gets one element of a PE."""
        return self.at(pe).g(index)

    def put(self, source: Any, pe: int, index: Any = 0) -> None:
        """Puts the elements of source to a PE, from this index on."""
        self.at(pe).put(source, index)

    def get(self, pe: int, index: Any = 0, count: Optional[int] = None, dest: Any = None) -> Any:
        """Gets elements of a PE; see Remote.get."""
        return self.at(pe).get(index, count, dest)

    # its end

    def free(self) -> None:
        """Gives the memory back: on all PEs together, for all arrays in the same order. Views of it end, too."""
        self._require()
        self._end("freed")
        library.bind("shmem_free", None, pointer)(self._address)

    def _end(self, how: str = "ended by finalize()") -> None:
        self._gone = how
        self._count = 0  # short calls look at this only
        self._local = None
        for remote in self._remotes.values():
            remote._end()
        self._remotes = {}

    def _require(self) -> None:
        if self._gone:
            raise Error(f"this array was {self._gone}")
        job.require()

    def _span(self, kind: Kind, what: str) -> Span:
        if self._gone:
            self._require()
        if self._kind is not kind and not same(self._kind, kind):
            raise TypeError(f"{what} has elements of {self._kind.name}, expected {kind.name}")
        return self._address, self._count, self


def _view(address: int, shape: Tuple[int, ...], kind: Kind) -> Any:
    numpy = numpy_or_none()
    count = 1
    for extent in shape:
        count *= extent
    memory = (ctypes.c_char * (count * kind.size)).from_address(address)
    if numpy:
        return numpy.frombuffer(memory, dtype=kind.dtype).reshape(shape)
    if kind.code:
        return memoryview(memory).cast("B").cast(kind.code, shape)  # type: ignore[call-overload]
    if kind.ctype and len(shape) == 1:
        return (kind.ctype * count).from_address(address)
    raise TypeError(f"elements of {kind.name} with {len(shape)} dimensions need numpy, which is not installed")


def _assign(local: Any, index: slice, value: Any, kind: Kind) -> None:
    """Without numpy: a part of a memoryview becomes a number or a sequence."""
    if kind.code and not isinstance(value, memoryview):
        count = len(range(*index.indices(len(local))))
        address, given, keeper = read_span(value, kind, "value")
        if given not in (count, 1):
            raise ValueError(f"{given} values for {count} elements")
        text = ctypes.string_at(address, given * kind.size)
        local[index] = memoryview(text if given == count else text * count).cast("B").cast(kind.code)
    else:
        local[index] = value


def empty(shape: Shape, dtype: Any = float, align: int = 0) -> Array:
    """A symmetric array whose elements have any value. Collective: all PEs call it, with the same arguments. align:
    its address is a multiple of this power of two."""
    job.require()
    extents, kind = _shape_of(shape), kind_of(dtype)
    count = kind.size
    for extent in extents:
        count *= extent
    if align < 0 or align & (align - 1):
        raise ValueError(f"align is {align}, expected a power of two")
    if align:
        address = library.bind("shmem_align", pointer, c_size, c_size)(max(align, 16), count)
    else:
        address = library.bind("shmem_malloc", pointer, c_size)(count)
    return _made(address, extents, kind, count)


def zeros(shape: Shape, dtype: Any = float) -> Array:
    """A symmetric array of zeros. Collective, like empty()."""
    job.require()
    extents, kind = _shape_of(shape), kind_of(dtype)
    count = 1
    for extent in extents:
        count *= extent
    address = library.bind("shmem_calloc", pointer, c_size, c_size)(count, kind.size)
    return _made(address, extents, kind, count * kind.size)


def _made(address: Optional[int], shape: Tuple[int, ...], kind: Kind, nbytes: int) -> Array:
    if not address:
        raise MemoryError(f"the symmetric heap has no room for {nbytes} bytes: SHMEM_SYMMETRIC_SIZE (now "
                          "512M, unless it is set) is its size on each PE")
    partition = library.bind("shmemx_partition_of", c_int, pointer, short=True)(address)
    if partition >= 0:
        device = library.bind("shmemx_partition_kind", ctypes.c_char_p, c_int)(partition) or b"host"
        if device != b"host":
            raise Error(f"symmetric memory is that of a device ({device.decode()}), which Python cannot read: unset "
                        "SHMEM_DEFAULT_SPACE")
    return Array(address, shape, kind)


def full(shape: Shape, value: Any, dtype: Any = None) -> Array:
    """A symmetric array whose elements are this value of this PE. Collective, like empty()."""
    made = empty(shape, type(value) if dtype is None else dtype)
    made.fill(value)
    sync_all()
    return made


def array(values: Any, dtype: Any = None) -> Array:
    """A symmetric array with a copy of these values of this PE: of a numpy array, a buffer or a list; the same shape
    and type on all PEs. Collective."""
    numpy = numpy_or_none()
    if numpy:
        source = numpy.ascontiguousarray(values, dtype=None if dtype is None else kind_of(dtype).dtype)
        made = empty(source.shape or 1, source.dtype)
        made.local[...] = source
    else:
        kind = kind_of(dtype if dtype is not None else _guess(values))
        address, count, keeper = read_span(values, kind, "values")
        made = empty(count, kind)
        ctypes.memmove(made._address, address, count * kind.size)
    sync_all()
    return made


def _guess(values: Any) -> Any:
    """A type for values without numpy: that of a buffer, or of numbers."""
    try:
        return memoryview(values).format.lstrip("@=<")
    except TypeError:
        items = list(values) if isinstance(values, (list, tuple, range)) else [values]
        return float if not items or any(isinstance(item, float) for item in items) else type(items[0])


def sync_all() -> None:
    """Waits until all PEs are here."""
    job.require()
    library.bind("shmem_sync_all", None)()


def is_symmetric(address: int, nbytes: int) -> bool:
    """Is all of this memory symmetric?"""
    ask = library.bind("shmem_addr_accessible", c_int, pointer, c_int, short=True)
    return bool(ask(address, job.my_pe) and (nbytes <= 1 or ask(address + nbytes - 1, job.my_pe)))
