# SPDX-License-Identifier: BSD-3-Clause
"""DLPack: symmetric memory for torch, jax, cupy and others, without a copy.

The record is one block of malloc and its deleter is free(3): a consumer may delete it at any time, also when Python has
ended, and there is nothing to keep, since only the user frees symmetric memory. A capsule that nobody takes leaves its
150 bytes allocated.
"""
from __future__ import annotations

import ctypes
from typing import Any, Tuple

from ._types import Kind

CPU = 1
_CODES = {"int": 0, "uint": 1, "float": 2, "complex": 5, "bool": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor)]


_process = ctypes.CDLL(None)
_malloc = _process.malloc
_malloc.restype, _malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_free = ctypes.cast(_process.free, ctypes.c_void_p).value
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
# capsules keep the address of their name
_NAME, _NAME_VERSIONED = ctypes.c_char_p(b"dltensor"), ctypes.c_char_p(b"dltensor_versioned")


def make_capsule(address: int, kind: Kind, shape: Tuple[int, ...], versioned: bool) -> Any:
    """A PyCapsule that describes this memory."""
    code = _CODES.get(kind.name.rstrip("0123456789"))
    if code is None or kind.size > 16:
        raise BufferError(f"DLPack has no {kind.name}")
    record = _Versioned if versioned else _Managed
    extents = (ctypes.c_int64 * (2 * len(shape)))
    block = _malloc(ctypes.sizeof(record) + ctypes.sizeof(extents))
    if not block:
        raise MemoryError
    managed = record.from_address(block)
    ctypes.memset(block, 0, ctypes.sizeof(record))
    numbers = extents.from_address(block + ctypes.sizeof(record))
    stride = 1
    for axis in reversed(range(len(shape))):
        numbers[axis], numbers[len(shape) + axis] = shape[axis], stride
        stride *= shape[axis]
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.ndim = address, CPU, len(shape)
    tensor.code, tensor.bits, tensor.lanes = code, 8 * kind.size, 1
    tensor.shape = ctypes.addressof(numbers)
    tensor.strides = ctypes.addressof(numbers) + 8 * len(shape)
    managed.deleter = _free
    if versioned:
        managed.major, managed.minor = 1, 0
    return _new_capsule(block, _NAME_VERSIONED if versioned else _NAME, None)
