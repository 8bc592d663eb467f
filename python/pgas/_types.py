# SPDX-License-Identifier: BSD-3-Clause
"""The types of elements: THE list of what a symmetric array may hold, and what OpenSHMEM can do with each type.

A kind is one row of the list. Types that OpenSHMEM has no name for (numpy's bool, float16, records) are kinds of their
own that can be moved, but not reduced, waited for or changed atomically. numpy is used if it can be imported, and
imported when it is first needed.
"""
from __future__ import annotations

import ctypes
import math
from typing import Any, Dict, Optional

_numpy: Any = None  # False: it cannot be imported


def numpy_or_none() -> Any:
    """The module numpy, or None where it is not installed."""
    global _numpy
    if _numpy is None:
        try:
            import numpy
        except ImportError:
            _numpy = False
        else:
            _numpy = numpy
    return _numpy or None


class Kind:
    """A type of elements.

    name: numpy's name, code: that of struct, array and memoryview or "", shmem: TYPENAME of OpenSHMEM's typed calls or
    "", ctype: the same for ctypes. can: which families of calls OpenSHMEM has for it. low, high: the range of an
    integer.
    """

    __slots__ = ("name", "size", "code", "shmem", "ctype", "can", "low", "high", "_dtype")

    def __init__(self, name: str, size: int, code: str = "", shmem: str = "", ctype: Any = None, can: str = "",
                 dtype: Any = None) -> None:
        self.name, self.size, self.code, self.shmem, self.ctype = name, size, code, shmem, ctype
        self.can = frozenset(can.split())
        self.low, self.high = -math.inf, math.inf
        if name.startswith(("int", "uint")):
            bits = 8 * size
            self.low = -(1 << (bits - 1)) if name[0] == "i" else 0
            self.high = (1 << (bits - 1)) - 1 if name[0] == "i" else (1 << bits) - 1
        self._dtype = dtype

    @property
    def dtype(self) -> Any:
        """numpy's type; only where there is numpy."""
        if self._dtype is None:
            self._dtype = numpy_or_none().dtype(self.name)
        return self._dtype

    @property
    def is_integer(self) -> bool:
        return self.high != math.inf

    def require(self, family: str, what: str) -> None:
        """Raises an error that names the types for which there is such a call."""
        if family not in self.can:
            names = ", ".join(k.name for k in LIST if family in k.can)
            raise TypeError(f"{what}: there is no such call for {self.name}; there is one for {names}")

    def __repr__(self) -> str:
        return f"<pgas type {self.name}>"


# amo: fetch, set, swap; add: add, inc, compare_swap, waits; bit: and, or, xor; one: p and g; the others: reductions
_INT = "one r_bit r_cmp r_sum"
_WORD = _INT + " amo add bit"
LIST = (
    Kind("int8", 1, "b", "int8", ctypes.c_int8, _INT),
    Kind("int16", 2, "h", "int16", ctypes.c_int16, _INT),
    Kind("int32", 4, "i", "int32", ctypes.c_int32, _WORD),
    Kind("int64", 8, "q", "int64", ctypes.c_int64, _WORD),
    Kind("uint8", 1, "B", "uint8", ctypes.c_uint8, _INT),
    Kind("uint16", 2, "H", "uint16", ctypes.c_uint16, _INT),
    Kind("uint32", 4, "I", "uint32", ctypes.c_uint32, _WORD),
    Kind("uint64", 8, "Q", "uint64", ctypes.c_uint64, _WORD),
    Kind("float32", 4, "f", "float", ctypes.c_float, "one amo r_cmp r_sum"),
    Kind("float64", 8, "d", "double", ctypes.c_double, "one amo r_cmp r_sum"),
    Kind("longdouble", ctypes.sizeof(ctypes.c_longdouble), "", "longdouble", ctypes.c_longdouble, "one r_cmp r_sum"),
    Kind("complex64", 8, "", "complexf", None, "r_sum"),
    Kind("complex128", 16, "", "complexd", None, "r_sum"),
    Kind("bool", 1, "?", "", ctypes.c_bool, ""),
)

_known: Dict[Any, Kind] = {}
for _kind in LIST:
    _known[_kind.name] = _kind
    if _kind.code:
        _known[_kind.code] = _kind
    if _kind.ctype:
        _known[_kind.ctype] = _kind
_known.update({int: _known["int64"], float: _known["float64"], complex: _known["complex128"], bool: _known["bool"],
               "l": _known["int64"], "L": _known["uint64"], "n": _known["int64"], "N": _known["uint64"],
               "g": _known["longdouble"]})


def _from_numpy(dtype: Any) -> Optional[Kind]:
    numpy = numpy_or_none()
    if not numpy:
        return None
    found = numpy.dtype(dtype)
    if found.hasobject:
        raise TypeError(f"{found} has references to Python objects, which mean nothing to other PEs")
    if found.isnative and not found.shape and found.names is None:
        kind = _known.get("longdouble" if found.char == "g" else found.name)
        if kind:
            return kind
    return Kind(str(found), found.itemsize, dtype=found)


def kind_of(dtype: Any) -> Kind:
    """The kind that a user named: "float64", "d", float, numpy.float64, numpy.dtype(...), ctypes.c_double."""
    if isinstance(dtype, Kind):
        return dtype
    try:
        return _known[dtype]
    except (KeyError, TypeError):
        pass
    try:
        kind = _from_numpy(dtype)
    except TypeError as error:
        raise TypeError(f"dtype {dtype!r}: {error}") from None
    if kind is None:
        raise TypeError(f"dtype {dtype!r} is unknown; expected one of {', '.join(k.name for k in LIST)}"
                        " (numpy, which knows others, is not installed)")
    try:
        _known[dtype] = kind
    except TypeError:
        pass
    return kind


def same(one: Kind, other: Kind) -> bool:
    """Do both describe the same elements?"""
    if one is other:
        return True
    return not (one.shmem or other.shmem) and one.name == other.name and one.size == other.size
