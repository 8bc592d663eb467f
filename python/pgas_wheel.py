# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wheel of the package pgas, for pip (PEP 517, PEP 660). It uses the standard library only, so that
pip install ./python works without a network, setuptools and wheel, and writes nothing into this folder.

The package finds libsma when it is used: see docs/PYTHON.md.
"""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "pgas")
with open(os.path.join(PACKAGE, "__init__.py"), encoding="utf-8") as _file:
    VERSION = re.search(r'^__version__ = "(.*)"$', _file.read(), re.MULTILINE)[1]
NAME = f"pgas-{VERSION}"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes each time

METADATA = f"""\
Metadata-Version: 2.1
Name: pgas
Version: {VERSION}
Summary: OpenSHMEM 1.6 for Python: symmetric arrays that are numpy arrays without a copy
License: BSD-3-Clause
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: pgas_wheel
Root-Is-Purelib: true
Tag: py3-none-any
"""


def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel


def _write(wheel_directory, files):
    """A wheel is a zip file with a list of what is in it."""
    files[f"{NAME}.dist-info/METADATA"] = METADATA.encode()
    files[f"{NAME}.dist-info/WHEEL"] = WHEEL.encode()
    record = f"{NAME}.dist-info/RECORD"
    lines = []
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(text)}\n")
    files[record] = "".join((*lines, f"{record},,\n")).encode()
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)
    return wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    files = {}
    for name in sorted(os.listdir(PACKAGE)):
        if name.endswith((".py", ".pyi")) or name == "py.typed":
            with open(os.path.join(PACKAGE, name), "rb") as file:
                files[f"pgas/{name}"] = file.read()
    return _write(wheel_directory, files)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"pgas.pth": f"{HERE}\n".encode()})
