# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for values that other PEs store into this PE's part of an array. A mixin of Array.

cmp is "==", "!=", ">", ">=", "<" or "<=". Waits release Python's lock: other threads of this PE go on.
"""
from __future__ import annotations

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

from ._buffer import check_value, read_span
from ._library import c_int, c_size, c_word, library, pointer
from ._types import kind_of

COMPARISONS = {"==": 0, "!=": 1, ">": 2, ">=": 3, "<": 4, "<=": 5}
_NONE = ctypes.c_size_t(-1).value  # SIZE_MAX
_UINT64 = kind_of("uint64")


def comparison(cmp: str) -> int:
    try:
        return COMPARISONS[cmp]
    except (KeyError, TypeError):
        raise ValueError(f"cmp is {cmp!r}, expected one of {' '.join(COMPARISONS)}") from None


class Waits:
    """index, or start and count, choose elements of this PE. value is one number, or for the calls on several elements
    also one for each. status: a number for each element; those that are not 0 are left out."""

    def wait_until(self: Any, cmp: str, value: Any, index: Any = 0) -> None:
        """Waits until the element compares so."""
        address = self._word(index, value)
        self._sync("wait_until", None, pointer, c_int, self._kind.ctype)(address, comparison(cmp), value)

    def test(self: Any, cmp: str, value: Any, index: Any = 0) -> bool:
        """Does the element compare so?"""
        address = self._word(index, value)
        return bool(self._sync("test", c_int, pointer, c_int, self._kind.ctype)(address, comparison(cmp), value))

    def wait_until_all(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                       status: Optional[Sequence[int]] = None) -> None:
        self._set("wait_until_all", None, cmp, value, start, count, status)

    def wait_until_any(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                       status: Optional[Sequence[int]] = None) -> Optional[int]:
        """Returns the index of an element that compares so, counted from start; None if status leaves out all."""
        return _index(self._set("wait_until_any", c_size, cmp, value, start, count, status))

    def wait_until_some(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                        status: Optional[Sequence[int]] = None) -> List[int]:
        """Returns the indices of all elements that compare so, counted from start, as soon as there is one."""
        return self._some("wait_until_some", cmp, value, start, count, status)

    def test_all(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                 status: Optional[Sequence[int]] = None) -> bool:
        return bool(self._set("test_all", c_int, cmp, value, start, count, status))

    def test_any(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                 status: Optional[Sequence[int]] = None) -> Optional[int]:
        return _index(self._set("test_any", c_size, cmp, value, start, count, status))

    def test_some(self: Any, cmp: str, value: Any, start: int = 0, count: Optional[int] = None,
                  status: Optional[Sequence[int]] = None) -> List[int]:
        return self._some("test_some", cmp, value, start, count, status)

    def signal_wait_until(self: Any, cmp: str, value: int, index: Any = 0) -> int:
        """Waits for a signal, and returns its value."""
        address = self._word(index, value, signal=True)
        return library.bind("shmem_signal_wait_until", c_word, pointer, c_int, c_word)(address, comparison(cmp), value)

    def signal_fetch(self: Any, index: Any = 0) -> int:
        """The value of a signal of this PE."""
        return library.bind("shmem_signal_fetch", c_word, pointer, short=True)(self._word(index, 0, signal=True))

    # how they are called

    def _sync(self: Any, call: str, result: Any, *types: Any) -> Any:
        return library.bind(f"shmem_{self._kind.shmem}_{call}", result, *types)

    def _word(self: Any, index: Any, value: Any, signal: bool = False) -> int:
        """The address of an element that can be waited for."""
        from ._remote import flat_index

        self._require()
        if signal and self._kind is not _UINT64:
            raise TypeError(f"this array has elements of {self._kind.name}; signals are uint64")
        self._kind.require("add", "wait")
        check_value(value, self._kind, "value")
        return self._address + flat_index(index, self._shape, self._count) * self._size

    def _choose(self: Any, value: Any, start: int, count: Optional[int], status: Any) -> Tuple[int, int, Any, Any]:
        """Address and number of the elements; status and values as C has them, or None."""
        from ._remote import flat_index

        self._require()
        self._kind.require("add", "wait")
        first = flat_index(start, self._shape, self._count)
        number = self._count - first if count is None else count
        if not 1 <= number <= self._count - first:
            raise IndexError(f"{number} elements from index {first} on; the array has {self._count}")
        left_out = None
        if status is not None:
            if len(status) != number:
                raise ValueError(f"status has {len(status)} numbers for {number} elements")
            left_out = (ctypes.c_int * number)(*(1 if word else 0 for word in status))
        values = None
        if hasattr(value, "__len__"):
            values = read_span(value, self._kind, "value")
            if values[1] != number:
                raise ValueError(f"value has {values[1]} numbers for {number} elements")
        else:
            check_value(value, self._kind, "value")
        return self._address + first * self._size, number, left_out, values

    def _set(self: Any, call: str, result: Any, cmp: str, value: Any, start: int, count: Optional[int], status: Any,
             indices: Any = None) -> Any:
        address, number, left_out, values = self._choose(value, start, count, status)
        types: List[Any] = [pointer, c_size] + ([pointer] if indices is not None else [])
        given: List[Any] = [address, number] + ([indices] if indices is not None else [])
        suffix, last, last_type = ("_vector", values[0], pointer) if values else ("", value, self._kind.ctype)
        bound = self._sync(call + suffix, result, *types, pointer, c_int, last_type)
        return bound(*given, left_out, comparison(cmp), last)

    def _some(self: Any, call: str, cmp: str, value: Any, start: int, count: Optional[int], status: Any) -> List[int]:
        indices = (ctypes.c_size_t * self._count)()
        found = self._set(call, c_size, cmp, value, start, count, status, indices)
        return list(indices[:found])


def _index(found: int) -> Optional[int]:
    return None if found == _NONE else found
