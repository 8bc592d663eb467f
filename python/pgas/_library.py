# SPDX-License-Identifier: BSD-3-Clause
"""The C library: where it is, and its functions.

Functions are bound when they are first used, each with its types, in one of two ways: a short call keeps Python's lock
(ctypes.PyDLL), which saves time; one that may wait for others, or that copies much, releases it (ctypes.CDLL), so that
other threads of this PE go on.
"""
from __future__ import annotations

import ctypes
import importlib
import os
import shutil
from typing import Any, Dict, List, Optional, Tuple

from ._errors import LibraryError

SONAME = "libsma-pgas.so.0"
VENDOR = b"PGAS OpenSHMEM"
VARIABLE = "PGAS_LIBSMA"
TOOLS = "libsma-tools.so"

try:  # of an installation by make install
    _place: Any = importlib.import_module("._place", __package__)
except ImportError:
    _place = None


def folders_near(program: str) -> List[str]:
    """Where the libraries of an installation are, as seen from its programs."""
    folder = os.path.dirname(os.path.realpath(program))
    return [os.path.normpath(os.path.join(folder, way)) for way in ("../lib", "../lib64", "../..", "../.libs")]


def installed(way: str, name: str) -> Optional[str]:
    """A file of the installation that this package is a part of."""
    if _place is None:
        return None
    path = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), getattr(_place, way), name))
    return path if os.path.exists(path) else None


def _open() -> Tuple[ctypes.CDLL, str]:
    # A second copy of the library in one process would be another job: take the one that is there, of shmem4py or of
    # the program that runs this interpreter.
    try:
        return ctypes.CDLL(SONAME, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD), SONAME
    except OSError:
        pass
    named = os.environ.get(VARIABLE)
    oshrun = shutil.which("oshrun") or shutil.which("oshrun.pgas")
    names = [named] if named else [
        name for name in (installed("LIBDIR", SONAME), SONAME,
                          *(os.path.join(folder, SONAME) for folder in (folders_near(oshrun) if oshrun else ())))
        if name]
    reasons = []
    for name in names:
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL), name
        except OSError as error:
            reasons.append(str(error))
    if named:
        raise LibraryError(f"{VARIABLE}={named}: {reasons[0]}")
    raise LibraryError(f"{SONAME} was not found ({reasons[0]}); name it by {VARIABLE}=/path/of/{SONAME}, put its "
                       "folder into LD_LIBRARY_PATH, or the oshrun of its installation into PATH")


def _check_vendor(library: ctypes.CDLL, name: str) -> None:
    text = ctypes.create_string_buffer(256)
    try:
        library.shmem_info_get_name(text)
        library.shmemx_team_split_color
    except AttributeError:
        text.value = text.value or b"unknown"
    else:
        if text.value == VENDOR:
            return
    raise LibraryError(f"{name} is another OpenSHMEM ({text.value.decode(errors='replace')}); name ours by "
                       f"{VARIABLE}=/path/of/{SONAME}")


class Library:
    """libsma, opened when it is first needed. c is the library itself, for calls that this package does not have."""

    is_watched = False  # by tools that intercept the calls

    def __init__(self) -> None:
        self._c: Any = None
        self._short: Any = None
        self._bound: Dict[Tuple[str, bool], Any] = {}

    @property
    def c(self) -> ctypes.CDLL:
        if self._c is None:
            library, name = _open()
            _check_vendor(library, name)
            # Names are looked up in the whole process, so that tools that oshrun --stats and others preload see the
            # calls. libsma was opened for all to see.
            whole = ctypes.CDLL(None)
            self.is_watched = hasattr(whole, "shmem_impl_tool_is_here")
            self._c = whole if self.is_watched else library
            self._short = ctypes.PyDLL(None if self._c is whole else name, handle=self._c._handle)
        return self._c

    def bind(self, name: str, result: Any, *arguments: Any, short: bool = False) -> Any:
        """The function, with its types; none: it takes objects of ctypes. short: it never waits for another PE."""
        function = self._bound.get((name, short))
        if function is None:
            library = self.c
            function = (self._short if short else library)[name]  # an object of our own, unlike library.NAME
            function.restype, function.argtypes = result, arguments or None
            self._bound[name, short] = function
        return function


library = Library()

pointer = ctypes.c_void_p
c_int = ctypes.c_int
c_long = ctypes.c_long
c_size = ctypes.c_size_t
c_diff = ctypes.c_ssize_t
c_word = ctypes.c_uint64
