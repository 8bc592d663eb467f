# SPDX-License-Identifier: BSD-3-Clause
"""The part of a symmetric array at one PE: puts, gets, signals; atomics are in _atomic.py.

p and g are what a loop calls. Where the memory of the PE is mapped they are a store and a load through a memoryview, as
the library's own are (shmem_inline.h): the view checks index and value, and fence and quiet order such stores. They are
calls where tools or SHMEM_DEBUG want to see them. Everything unusual (a wrong value, an array that was freed) raises an
exception there, and goes the slow way, which finds out what is wrong. An index is a number of an element, in the order
of memory, or a tuple with a number for each axis; only [...] counts as numpy does.
"""
from __future__ import annotations

import ctypes
import functools
import operator
import os
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from ._atomic import Atomics
from ._buffer import check_value, new_local, read_span, write_span
from ._context import Context, default_context
from ._errors import Error
from ._library import c_diff, c_int, c_size, c_word, library, pointer
from ._types import Kind, kind_of, numpy_or_none, same

if TYPE_CHECKING:
    from ._array import Array

SIGNAL_SET, SIGNAL_ADD = 0, 1
_SHORT_BYTES = 4096  # up to here a copy within the host takes less time than giving Python's lock away
_STRIDED = {1: "8", 2: "16", 4: "32", 8: "64", 16: "128"}
_SIGNAL = kind_of("uint64")
_WRONG = (TypeError, ValueError, IndexError, OverflowError, NotImplementedError)  # what memoryviews raise


class Remote(Atomics):
    """The part of an array at a PE, by a context. Made by Array.at() and Context.at(); keep it in loops."""

    def __init__(self, array: Array, pe: int, context: Context = default_context) -> None:
        context._require()
        self._pe = operator.index(pe)
        if not 0 <= self._pe < context.n_pes:
            raise ValueError(f"there is no PE {pe}; PEs are 0 to {context.n_pes - 1}")
        array._require()
        self._array = array
        self._kind: Kind = array._kind
        self._context = context
        self._address = array._address
        self._count = array._count
        self._size = array._size
        self._low, self._high = self._kind.low, self._kind.high
        self._gone = ""
        self._near = context._pointer(self._address, self._pe) is not None
        self._calls: Dict[Tuple[str, bool], Any] = {}
        self._atomics: Dict[str, Any] = {}
        name, ctype = self._kind.shmem, self._kind.ctype
        self._ctype = ctype
        self._p: Any = None
        if "one" in self._kind.can:
            self._p = self._bind(f"{name}_p", None, pointer, ctype, c_int, short=self._near)
            self._g = self._bind(f"{name}_g", ctype, pointer, c_int, short=self._near)
        self._memory = self._map()
        self._items = self._memory if array.ndim == 1 else None
        context._remotes.add(self)

    def _map(self) -> Optional[memoryview]:
        """That part as a memoryview for p and g, where they need no call."""
        address = self._context._pointer(self._address, self._pe)
        if address is None or not self._kind.code or self._context.is_read_only or library.is_watched \
                or "SHMEM_DEBUG" in os.environ or "SMA_DEBUG" in os.environ:
            return None
        memory = (ctypes.c_char * (self._count * self._size)).from_address(address)
        return memoryview(memory).cast("B").cast(self._kind.code)  # type: ignore[call-overload]

    def _bind(self, name: str, result: Any, *types: Any, short: bool) -> Any:
        """The function of this context. Without types, arguments must be ctypes' own, or an int."""
        if self._context is default_context:
            return library.bind(f"shmem_{name}", result, *types, short=short)
        bound = library.bind(f"shmem_ctx_{name}", result, *((pointer, *types) if types else ()), short=short)
        return functools.partial(bound, pointer(self._context._handle))

    def _call(self, name: str, result: Any, *types: Any, short: bool) -> Any:
        """The same, kept: for calls that not every Remote makes."""
        bound = self._calls.get((name, short))
        if bound is None:
            bound = self._calls[name, short] = self._bind(name, result, *types, short=short)
        return bound

    def _end(self, how: str = "") -> None:
        self._count = 0
        self._memory = self._items = None
        self._gone = how

    def _require(self) -> None:
        self._array._require()
        if self._gone:
            raise Error(self._gone)
        self._context._require()

    @property
    def pe(self) -> int:
        return self._pe

    @property
    def local(self) -> Any:
        """That part as memory of this PE, a numpy array or memoryview; None if it is on another host."""
        from ._array import _view

        self._require()
        address = self._context._pointer(self._address, self._pe)
        return None if address is None else _view(address, self._array._shape, self._kind)

    # one element

    def p(self, value: Any, index: Any = 0) -> None:
        """Puts one element."""
        memory = self._memory
        if memory is not None:
            try:
                memory[index] = value
                return
            except _WRONG:
                pass
        self._p_slowly(value, self._flat(index))

    def _p_slowly(self, value: Any, offset: int) -> None:
        if self._p is None:
            self.put(value, offset)
            return
        check_value(value, self._kind, "value")
        try:
            self._p(self._address + offset * self._size, value, self._pe)
        except ctypes.ArgumentError:
            raise TypeError(f"value is {value!r}, expected a number for {self._kind.name}") from None

    def g(self, index: Any = 0) -> Any:
        """Gets one element."""
        memory = self._memory
        if memory is not None:
            try:
                return memory[index]
            except _WRONG:
                pass
        offset = self._flat(index)
        if self._p is not None:
            return self._g(self._address + offset * self._size, self._pe)
        got = self.get(offset, 1)
        return got[0] if numpy_or_none() else bytes(got)

    # several elements

    def put(self, source: Any, index: Any = 0) -> None:
        """Puts the elements of source, from this index on. On return source may be used again."""
        offset = self._flat(index)
        address, count, keeper = read_span(source, self._kind, "source")
        self._copy("putmem", self._span_at(offset, count), address, count * self._size)

    def put_nbi(self, source: Any, index: Any = 0) -> None:
        """The same, complete with the quiet() of its context, until which source must not change."""
        offset = self._flat(index)
        address, count, keeper = read_span(source, self._kind, "source", exact=True)
        dest = self._span_at(offset, count)
        self._context._keep(keeper)
        self._transfer("putmem_nbi")(dest, address, count * self._size, self._pe)

    def get(self, index: Any = 0, count: Optional[int] = None, dest: Any = None) -> Any:
        """Gets count elements (default: all that follow, or as many as dest has) into dest, or into a new local array.
        Returns it."""
        offset = self._flat(index)
        if dest is None:
            number = self._count - offset if count is None else operator.index(count)
            dest = new_local(self._kind, (max(number, 0),))
        address, room, keeper = write_span(dest, self._kind, "dest")
        number = room if count is None else operator.index(count)
        if number > room:
            raise ValueError(f"count is {number}, but dest has {room} elements")
        self._copy("getmem", address, self._span_at(offset, number), number * self._size)
        return dest

    def get_nbi(self, dest: Any, index: Any = 0) -> None:
        """Gets as many elements as dest has; they are there after the quiet() of the context."""
        offset = self._flat(index)
        address, count, keeper = write_span(dest, self._kind, "dest")
        source = self._span_at(offset, count)
        self._context._keep(keeper)
        self._transfer("getmem_nbi")(address, source, count * self._size, self._pe)

    def put_signal(self, source: Any, signal: Array, value: int, index: Any = 0, *, add: bool = False,
                   signal_index: Any = 0, nbi: bool = False) -> None:
        """put(), and then sets the word signal[signal_index] (uint64) of that PE to value, or adds it. nbi: source
        must not change before quiet()."""
        offset = self._flat(index)
        word = signal_word(signal, signal_index)
        check_value(value, _SIGNAL, "value")
        address, count, keeper = read_span(source, self._kind, "source", exact=nbi)
        dest = self._span_at(offset, count)
        if nbi:
            self._context._keep(keeper)
        call = self._call("putmem_signal_nbi" if nbi else "putmem_signal", None, pointer, pointer, c_size, pointer,
                          c_word, c_int, c_int, short=self._is_short(count * self._size))
        call(dest, address, count * self._size, word, value, SIGNAL_ADD if add else SIGNAL_SET, self._pe)

    def _is_short(self, nbytes: int) -> bool:
        return self._near and nbytes <= _SHORT_BYTES

    def _copy(self, name: str, dest: int, source: int, nbytes: int) -> None:
        short = self._near and nbytes <= _SHORT_BYTES
        call = self._calls.get((name, short)) or self._call(name, None, pointer, pointer, c_size, c_int, short=short)
        call(dest, source, nbytes, self._pe)

    def _transfer(self, name: str) -> Any:
        return self._call(name, None, pointer, pointer, c_size, c_int, short=self._near)

    # as numpy writes it

    def __getitem__(self, index: Any) -> Any:
        if index.__class__ is int and self._items is not None:
            return self.g(index)
        offset, count, step, shape = self._region(index)
        if not shape:
            return self.g(offset)
        dest = new_local(self._kind, shape)
        if count:
            address, room, keeper = write_span(dest, self._kind, "dest")
            source = self._span_at(offset, count, step)
            if step == 1:
                self._copy("getmem", address, source, count * self._size)
            else:
                self._strided("iget")(address, source, 1, step, count, self._pe)
        return dest

    def __setitem__(self, index: Any, value: Any) -> None:
        if index.__class__ is int and self._items is not None:
            self.p(value, index)
            return
        offset, count, step, shape = self._region(index)
        if not shape:
            self.p(value, offset)
            return
        address, given, keeper = read_span(value, self._kind, "value")
        if given == 1 and count > 1:
            keeper = ctypes.create_string_buffer(ctypes.string_at(address, self._size) * count)
            address = ctypes.addressof(keeper)
        elif given != count:
            raise ValueError(f"{given} values for {count} elements")
        if not count:
            return
        dest = self._span_at(offset, count, step)
        if step == 1:
            self._copy("putmem", dest, address, count * self._size)
        else:
            self._strided("iput")(dest, address, step, 1, count, self._pe)

    def _strided(self, verb: str) -> Any:
        bits = _STRIDED.get(self._size)
        if bits is None:
            raise ValueError(f"elements of {self._size} bytes cannot be moved with gaps: expected 1, 2, 4, 8 or 16")
        return self._call(verb + bits, None, pointer, pointer, c_diff, c_diff, c_size, c_int, short=False)

    # which elements

    def _flat(self, index: Any) -> int:
        """The number of an element, or an error."""
        if index.__class__ is int and 0 <= index < self._count:
            return index  # type: ignore[no-any-return]
        self._require()
        return flat_index(index, self._array._shape, self._count)

    def _span_at(self, offset: int, count: int, step: int = 1) -> int:
        """The address of these elements, all of which must be in the array."""
        if count < 1:
            raise ValueError(f"{count} elements: expected at least one")
        if offset + (count - 1) * step >= self._count:
            raise IndexError(f"{count} elements from index {offset} on are more than the {self._count} of the array")
        return self._address + offset * self._size

    def _region(self, index: Any) -> Tuple[int, int, int, Tuple[int, ...]]:
        """As numpy counts: offset, elements, step, shape; a shape of () is one element."""
        self._require()
        shape = self._array._shape
        items = index if isinstance(index, tuple) else (index,)
        if len(items) > len(shape):
            raise IndexError(f"{len(items)} indices for {len(shape)} dimensions")
        offset, stride = 0, self._count
        for axis, item in enumerate(items):
            stride //= shape[axis]
            if not isinstance(item, slice):
                offset += stride * flat_index(item, (), shape[axis])
                continue
            start, stop, step = item.indices(shape[axis])
            count = len(range(start, stop, step))
            if axis != len(items) - 1:
                raise IndexError("only the last index may be a slice; move a part of each row by itself")
            if step < 1 or (step > 1 and stride > 1):
                raise IndexError(f"a step of {step} is not possible here: it must be positive, and on the last axis")
            return offset + start * stride, count * stride, step, (count, *shape[axis + 1:])
        return offset, stride, 1, shape[len(items):]


def flat_index(index: Any, shape: Tuple[int, ...], count: int) -> int:
    """The number of an element, from a number that may be negative or a tuple."""
    if isinstance(index, tuple):
        if len(index) != len(shape):
            raise IndexError(f"{len(index)} indices for {len(shape)} dimensions")
        flat = 0
        for item, extent in zip(index, shape):
            flat = flat * extent + flat_index(item, (), extent)
        return flat
    try:
        number = operator.index(index)
    except TypeError:
        raise TypeError(f"index is {index!r}, expected a number or a tuple of numbers") from None
    if not -count <= number < count:
        raise IndexError(f"index {number} is outside 0 to {count - 1}")
    return number + count if number < 0 else number


def signal_word(signal: Any, index: Any) -> int:
    """The address of a word that is used as a signal."""
    kind = getattr(signal, "_kind", None)
    if kind is None or not same(kind, _SIGNAL):
        raise TypeError(f"signal is {signal!r}, expected a symmetric array of uint64")
    signal._require()
    return signal._address + flat_index(index, signal._shape, signal._count) * 8
