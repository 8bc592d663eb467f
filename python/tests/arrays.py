# SPDX-License-Identifier: BSD-3-Clause
"""The local part of an array: numpy arrays of the same memory, DLPack, memoryviews, and what works without numpy."""
import ctypes
import sys

from common import check, equal, main, numpy, pgas, raises


def plain(me, n):
    x = pgas.zeros(6, "float32")
    x[1:3] = [1.5, 2.5]
    x[4] = 4
    x[5:] = 7
    equal(x.tolist(), [0, 1.5, 2.5, 0, 4, 7], "what was stored")
    equal((len(x), x.shape, x.size, x.nbytes, x.itemsize, x.ndim), (6, (6,), 6, 24, 4, 1), "what it is")
    x.fill(2)
    equal(list(x), [2] * 6, "fill")
    memory = (ctypes.c_float * 6).from_address(x.address)
    memory[3] = 9
    equal(x[3], 9, "the address")
    check("float32" in repr(x), "repr")
    if sys.version_info >= (3, 12):
        equal(memoryview(x)[3], 9, "the buffer protocol")
    x.free()
    check("freed" in repr(x), "repr of a freed one")
    for dtype, name in ((int, "int64"), (float, "float64"), ("d", "float64"), (ctypes.c_uint16, "uint16"),
                        (complex, "complex128"), (bool, "bool")):
        y = pgas.zeros(2, dtype)
        equal(y.kind.name, name, f"dtype {dtype}")
        y.free()
    z = pgas.array([1, 2.5])
    equal((z.kind.name, z.tolist()), ("float64", [1, 2.5]), "array of a list")
    z.free()


def as_numpy(me, n):
    if not numpy:
        x = pgas.zeros(2, complex)
        raises(TypeError, "need numpy", getattr, x, "local")
        x.free()
        return
    x = pgas.zeros((3, 4), "float64")
    local = numpy.asarray(x)
    check(type(x.local) is numpy.ndarray and local.base is not None, "a numpy array")
    equal(local.__array_interface__["data"][0], x.address, "no copy")
    local[1, 2] = 5
    equal((x[1, 2], x.local[1].tolist()), (5, [0, 0, 5, 0]), "the same memory")
    equal(((x + 1)[1, 2], (2 * x).sum(), (-x).min(), numpy.sin(x)[0, 0], (x == 5).sum()), (6, 10, -5, 0, 1), "numpy")
    address = x.address
    x += 1
    numpy.multiply(x, 2, out=x)
    equal((x.address, x[1, 2], x[0, 0]), (address, 12, 2), "in place")
    equal(numpy.array(x, dtype="int32").tolist()[1], [2, 2, 12, 2], "a copy of another type")
    part = x.local[0]
    pgas.world.reduce(part, op="max")  # symmetric memory by a view of it
    right = x.at((me + 1) % n)
    right.put(numpy.full(4, 1.0 + me), (2, 0))
    pgas.barrier_all()
    equal(x[2].tolist(), [1.0 + (me - 1) % n] * 4, "a numpy source")
    got = right[2]
    check(isinstance(got, numpy.ndarray) and got.tolist() == [1.0 + me] * 4, "a numpy result")
    into = numpy.zeros((2, 4))
    right.get((1, 0), dest=into)
    equal(into[1].tolist(), [1.0 + me] * 4, "into a numpy array")
    pgas.barrier_all()
    right.p(numpy.float32(2.5), numpy.int64(0))
    pgas.barrier_all()
    equal(x[0, 0], 2.5, "numpy's numbers")
    x.free()


def other_types(me, n):
    if not numpy:
        return
    record = numpy.dtype([("a", "i4"), ("b", "f8")])
    x = pgas.zeros(3, record)
    right = x.at((me + 1) % n)
    one = numpy.zeros(2, record)
    one["a"], one["b"] = me, 0.5
    right.put(one, 1)
    pgas.barrier_all()
    equal((x[0]["a"], x[1]["a"], x[2]["b"]), (0, (me - 1) % n, 0.5), "records")
    equal(right[1:3]["a"].tolist(), [me, me], "records, got")
    raises(TypeError, "sum_reduce: there is no such call", pgas.world.reduce, x)
    x.free()
    for name in ("float16", "complex64", "complex128", "bool"):
        y = pgas.zeros(4, name)
        y.at((me + 1) % n).put(numpy.ones(2, name), 1)
        y.at((me + 1) % n).p(1, 3)
        pgas.barrier_all()
        equal(y.local.real.astype(int).tolist(), [0, 1, 1, 1], f"moves of {name}")
        equal(y.at((me + 1) % n).g(3), 1, f"g of {name}")
        y.free()


def dlpack(me, n):
    x = pgas.zeros((2, 3), "int32")
    x.at(me).put(list(range(6)))
    equal(x.__dlpack_device__(), (1, 0), "the memory of the CPU")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                    ("offset", ctypes.c_uint64)]

    for name, where, version in ((b"dltensor", 0, None), (b"dltensor_versioned", 32, (1, 0))):
        capsule = x.__dlpack__(max_version=version)
        block = pointer_of(capsule, name)
        tensor = Tensor.from_address(block + where)
        equal((tensor.data, list(tensor.device), tensor.ndim), (x.address, [1, 0], 2), "data and device")
        equal((tensor.code, tensor.bits, tensor.lanes, tensor.offset), (0, 32, 1, 0), "its type")
        equal((tensor.shape[:2], tensor.strides[:2]), ([2, 3], [3, 1]), "shape and strides")
        # the deleter, which follows the manager's pointer, as a consumer calls it
        place = block + (16 if where else ctypes.sizeof(Tensor) + 8)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.c_void_p.from_address(place).value)(block)
    raises(BufferError, "not on device (2, 0)", x.__dlpack__, dl_device=(2, 0))
    raises(BufferError, "not a copy", x.__dlpack__, copy=True)
    if numpy and hasattr(numpy, "from_dlpack"):
        taken = numpy.from_dlpack(x)
        equal((taken.__array_interface__["data"][0], taken.tolist()), (x.address, [[0, 1, 2], [3, 4, 5]]), "numpy")
        x[1, 2] = 8
        equal(taken[1, 2], 8, "the same memory")
        y = pgas.zeros(2, "longdouble")
        raises(BufferError, "DLPack has no longdouble", y.__dlpack__)
        y.free()
    x.free()


main(plain, as_numpy, other_types, dlpack)
