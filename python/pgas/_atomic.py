# SPDX-License-Identifier: BSD-3-Clause
"""Atomic operations on one element at another PE, and signals there. A mixin of Remote."""
from __future__ import annotations

import ctypes
from typing import Any

from ._buffer import check_value
from ._library import c_int, c_word, pointer
from ._types import kind_of

_FAMILY = {"fetch": "amo", "set": "amo", "swap": "amo", "compare_swap": "add", "inc": "add", "fetch_inc": "add",
           "add": "add", "fetch_add": "add"}
_UINT64 = kind_of("uint64")


class Atomics:
    """Each operation takes the index of an element; the fetching ones return its old value.

    The functions have no types of their own: making the arguments here takes less time than having ctypes convert them.
    """

    def _operation(self: Any, name: str) -> Any:
        call = self._atomics.get(name)
        if call is None:
            kind = self._kind
            kind.require(_FAMILY.get(name, "bit"), f"atomic_{name}")
            result = kind.ctype if name in ("swap", "compare_swap") or name.startswith("fetch") else None
            call = self._atomics[name] = self._bind(f"{kind.shmem}_atomic_{name}", result, short=self._near)
        return call

    def _amo0(self: Any, name: str, index: Any) -> Any:
        """An operation without a value."""
        try:
            if index.__class__ is int and 0 <= index < self._count:
                return self._atomics[name](pointer(self._address + index * self._size), self._pe)
        except KeyError:
            pass
        return self._operation(name)(self._place(index), self._pe)

    def _amo1(self: Any, name: str, value: Any, index: Any) -> Any:
        """An operation with one value. All in one function: each call of a method costs a tenth of it."""
        try:
            if index.__class__ is int and 0 <= index < self._count and self._low <= value <= self._high:
                place = pointer(self._address + index * self._size)
                return self._atomics[name](place, self._ctype(value), self._pe)
        except (KeyError, TypeError):
            pass
        return self._operation(name)(self._place(index), self._word(value), self._pe)

    def _place(self: Any, index: Any) -> ctypes.c_void_p:
        """The address of an element."""
        return pointer(self._address + self._flat(index) * self._size)

    def _word(self: Any, value: Any) -> Any:
        """A value for C."""
        try:
            if self._low <= value <= self._high:
                return self._kind.ctype(value)
        except TypeError:
            pass
        check_value(value, self._kind, "value")
        try:
            return self._kind.ctype(value)
        except TypeError:
            raise TypeError(f"value is {value!r}, expected a number for {self._kind.name}") from None

    def atomic_fetch(self: Any, index: Any = 0) -> Any:
        return self._amo0("fetch", index)

    def atomic_set(self: Any, value: Any, index: Any = 0) -> None:
        self._amo1("set", value, index)

    def atomic_swap(self: Any, value: Any, index: Any = 0) -> Any:
        return self._amo1("swap", value, index)

    def atomic_compare_swap(self: Any, expected: Any, value: Any, index: Any = 0) -> Any:
        """Stores value if the element is the expected one."""
        return self._operation("compare_swap")(self._place(index), self._word(expected), self._word(value), self._pe)

    def atomic_inc(self: Any, index: Any = 0) -> None:
        self._amo0("inc", index)

    def atomic_fetch_inc(self: Any, index: Any = 0) -> Any:
        return self._amo0("fetch_inc", index)

    def atomic_add(self: Any, value: Any, index: Any = 0) -> None:
        self._amo1("add", value, index)

    def atomic_fetch_add(self: Any, value: Any, index: Any = 0) -> Any:
        return self._amo1("fetch_add", value, index)

    def atomic_and(self: Any, value: int, index: Any = 0) -> None:
        self._amo1("and", value, index)

    def atomic_fetch_and(self: Any, value: int, index: Any = 0) -> Any:
        return self._amo1("fetch_and", value, index)

    def atomic_or(self: Any, value: int, index: Any = 0) -> None:
        self._amo1("or", value, index)

    def atomic_fetch_or(self: Any, value: int, index: Any = 0) -> Any:
        return self._amo1("fetch_or", value, index)

    def atomic_xor(self: Any, value: int, index: Any = 0) -> None:
        self._amo1("xor", value, index)

    def atomic_fetch_xor(self: Any, value: int, index: Any = 0) -> Any:
        return self._amo1("fetch_xor", value, index)

    def signal_set(self, value: int, index: Any = 0) -> None:
        """Sets a signal (uint64) at that PE."""
        self._signal("signal_set", value, index)

    def signal_add(self, value: int, index: Any = 0) -> None:
        """Adds to a signal (uint64) at that PE."""
        self._signal("signal_add", value, index)

    def _signal(self: Any, name: str, value: int, index: Any) -> None:
        if self._kind is not _UINT64:
            raise TypeError(f"{name}: this array has elements of {self._kind.name}; signals are uint64")
        check_value(value, self._kind, "value")
        call = self._call(name, None, pointer, c_word, c_int, short=self._near)
        call(self._address + self._flat(index) * 8, value, self._pe)
