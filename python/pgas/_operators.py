# SPDX-License-Identifier: BSD-3-Clause
"""Operators of arrays: x + 1, x == y and so on are numpy's, of the local parts; x += 1 changes the local part. A mixin
of Array; _operators.pyi declares what the loops below make."""
from typing import Any

BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
OTHERS = "neg pos abs invert eq ne lt le gt ge".split()


class Operators:
    """Without numpy there are none but == and !=, which compare memoryviews."""

    __hash__ = object.__hash__


def local_of(thing: Any) -> Any:
    """The local part, if this is an array."""
    return thing.local if isinstance(thing, Operators) else thing


def _forward(name: str) -> Any:
    def method(self: Any, *others: Any) -> Any:
        own = getattr(self.local, name, None)
        return NotImplemented if own is None else own(*(local_of(other) for other in others))
    method.__name__ = name
    return method


def _in_place(name: str) -> Any:
    def method(self: Any, other: Any) -> Any:
        own = getattr(self.local, name, None)
        if own is None or own(local_of(other)) is NotImplemented:
            return NotImplemented
        return self
    method.__name__ = name
    return method


for _word in BINARY:
    setattr(Operators, f"__{_word}__", _forward(f"__{_word}__"))
    setattr(Operators, f"__r{_word}__", _forward(f"__r{_word}__"))
    setattr(Operators, f"__i{_word}__", _in_place(f"__i{_word}__"))
for _word in OTHERS:
    setattr(Operators, f"__{_word}__", _forward(f"__{_word}__"))
