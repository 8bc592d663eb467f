# SPDX-License-Identifier: BSD-3-Clause
"""Local memory of the program as an address and a number of elements: of symmetric arrays, numpy arrays, anything with
a buffer (bytes, array.array, memoryview, ctypes arrays), lists and numbers. Each comes with an object that keeps the
memory alive."""
from __future__ import annotations

import array
import ctypes
from typing import Any, Tuple

from ._types import Kind, kind_of, numpy_or_none, same

Span = Tuple[int, int, Any]  # address, elements, keeper


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None


def view_address(view: memoryview) -> int:
    """Where a contiguous view is, also one that is read-only."""
    found = _PyBuffer()
    _get_buffer(view, ctypes.byref(found), 0)
    address = found.buf or 0
    _release_buffer(ctypes.byref(found))
    return address


def _mismatch(what: str, has: Any, kind: Kind) -> TypeError:
    return TypeError(f"{what} has elements of {has}, expected {kind.name}")


def _numpy_span(obj: Any, kind: Kind, what: str, write: bool, exact: bool) -> Span:
    if not same(kind_of(obj.dtype), kind):
        raise _mismatch(what, obj.dtype, kind)
    if write and not obj.flags.writeable:
        raise ValueError(f"{what} is read-only")
    if not obj.flags.c_contiguous:
        if write or exact:
            raise ValueError(f"{what} has gaps between its elements; it must be contiguous")
        obj = numpy_or_none().ascontiguousarray(obj)
    return obj.__array_interface__["data"][0], obj.size, obj


def _view_span(obj: Any, kind: Kind, what: str, write: bool) -> Span:
    view = memoryview(obj)
    code = view.format.lstrip("@=<")
    raw = isinstance(obj, (bytes, bytearray))
    if not raw and not (view.itemsize == kind.size and code and same(_code_kind(code, what, kind), kind)):
        raise _mismatch(what, f"format {view.format!r}", kind)
    if view.nbytes % kind.size:
        raise ValueError(f"{what} has {view.nbytes} bytes, which is no multiple of the {kind.size} of {kind.name}")
    if write and view.readonly:
        raise ValueError(f"{what} is read-only")
    if not view.c_contiguous:
        raise ValueError(f"{what} has gaps between its elements; it must be contiguous")
    return view_address(view), view.nbytes // kind.size, view


def _code_kind(code: str, what: str, kind: Kind) -> Kind:
    try:
        return kind_of(code)
    except TypeError:
        raise _mismatch(what, f"format {code!r}", kind) from None


def _values(obj: Any, kind: Kind, what: str) -> Span:
    """A list, a tuple or one number, as new memory."""
    numpy = numpy_or_none()
    if numpy:
        try:
            made = numpy.array(obj, dtype=kind.dtype)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{what}: {error}") from None
        return made.__array_interface__["data"][0], made.size, made
    items = list(obj) if isinstance(obj, (list, tuple, range)) else [obj]
    if kind.ctype is None:
        raise TypeError(f"{what}: numbers of {kind.name} need numpy, which is not installed")
    for item in items:
        check_value(item, kind, what)
    try:
        made = (kind.ctype * len(items))(*items)
    except TypeError as error:
        raise TypeError(f"{what}: {error}") from None
    return ctypes.addressof(made), len(items), made


def check_value(value: Any, kind: Kind, what: str) -> None:
    """An integer must be one and fit."""
    if kind.is_integer:
        try:
            number = value.__index__()
        except AttributeError:
            raise TypeError(f"{what} is {value!r}, expected an integer for {kind.name}") from None
        if not kind.low <= number <= kind.high:
            raise OverflowError(f"{what} is {value!r}, which does not fit into {kind.name}")


def read_span(obj: Any, kind: Kind, what: str, exact: bool = False) -> Span:
    """Memory that a call reads. exact: the memory itself, not a copy, for a call that returns before it has read."""
    own = getattr(obj, "_span", None)
    if own is not None:
        return own(kind, what)
    if hasattr(obj, "__array_interface__"):
        numpy = numpy_or_none()
        if numpy and not isinstance(obj, numpy.ndarray):
            obj = numpy.asarray(obj)
        if numpy:
            return _numpy_span(obj, kind, what, False, exact)
    if isinstance(obj, (list, tuple, range, int, float, complex)):
        return _values(obj, kind, what)
    try:
        return _view_span(obj, kind, what, False)
    except TypeError as error:
        if "bytes-like" not in str(error):
            raise
    raise TypeError(f"{what} is a {type(obj).__name__}; expected an array, a buffer, a list or a number")


def write_span(obj: Any, kind: Kind, what: str) -> Span:
    """Memory that a call writes."""
    own = getattr(obj, "_span", None)
    if own is not None:
        return own(kind, what)
    numpy = numpy_or_none()
    if numpy and isinstance(obj, numpy.ndarray):
        return _numpy_span(obj, kind, what, True, True)
    try:
        return _view_span(obj, kind, what, True)
    except TypeError as error:
        if "bytes-like" not in str(error):
            raise
    raise TypeError(f"{what} is a {type(obj).__name__}; expected an array or a buffer that can be written")


def new_local(kind: Kind, shape: Tuple[int, ...]) -> Any:
    """Private memory for a result: a numpy array, or array.array, or bytes where that has no such type."""
    numpy = numpy_or_none()
    if numpy:
        return numpy.empty(shape, dtype=kind.dtype)
    count = 1
    for extent in shape:
        count *= extent
    if kind.code and kind.code != "?":
        return array.array(kind.code, bytes(count * kind.size))
    return bytearray(count * kind.size)
