# SPDX-License-Identifier: BSD-3-Clause
"""python3 -m pgas [options of oshrun] script.py [arguments]: starts the script on several PEs, by the oshrun of the
installation that this package belongs to and the Python that runs this."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import List, Optional, Tuple

from ._errors import LibraryError
from ._library import TOOLS, VARIABLE, installed

USAGE = """usage: python3 -m pgas [options of oshrun] script.py [arguments]
       python3 -m pgas [options of oshrun] -m module [arguments]

    python3 -m pgas -n 4 script.py
    python3 -m pgas -n 4 --stats=out script.py
    python3 -m pgas -H a:2,b:2 script.py

oshrun --help lists its options."""
# options of oshrun whose value is a word of its own
VALUES = {
    "n", "np", "c", "H", "host", "hosts", "hostfile", "machinefile", "f", "rankfile", "ppn", "N", "npernode", "map-by",
    "launch-agent", "tree", "host-timeout", "bind-to", "bind", "x", "wdir", "wd", "timeout", "grace",
    "output-filename", "stdin", "attach", "trace", "check", "hang-after", "debugger"}
# those that need the tools preloaded: libsma is loaded too late to do so itself
TOOL_OPTIONS = {"stats", "trace", "check", "hang-after"}


def split(words: List[str]) -> Tuple[List[str], List[str]]:
    """The options of oshrun, and the script with its arguments."""
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return words[:place], words[place + 1:]
        if not word.startswith("-") or word == "-m":
            break  # a script, or the name of a module
        name, equals, _ = word.lstrip("-").partition("=")
        place += 2 if name in VALUES and not equals else 1
    return words[:place], words[place:]


def is_ours(path: str) -> bool:
    """Open MPI has an oshrun, too."""
    try:
        said = subprocess.run([path, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=30, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    return b"--hang-after" in said


def find_oshrun() -> str:
    """That of this installation, of the library that the user named, or in PATH."""
    candidates: List[Optional[str]] = [installed("BINDIR", "oshrun")]
    named = os.environ.get(VARIABLE)
    if named:
        folder = os.path.dirname(os.path.realpath(named))
        candidates += [os.path.join(folder, way, "oshrun") for way in ("../bin", "pgas/bin", "../launch")]
    if candidates[0]:
        return candidates[0]
    candidates += [shutil.which("oshrun"), shutil.which("oshrun.pgas")]
    found = [path for path in candidates if path and os.access(path, os.X_OK)]
    for path in found:
        if is_ours(path):
            return path
    others = f"; {', '.join(found)} is another one" if found else ""
    raise LibraryError(f"oshrun was not found{others}: put that of pgas into PATH, or name its library by {VARIABLE}")


def tools_of(oshrun: str) -> Optional[str]:
    """The library that --stats and others preload."""
    from ._library import folders_near

    named = os.environ.get(VARIABLE)
    folders = ([os.path.dirname(named)] if named else []) + folders_near(oshrun) + [
        folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    here = installed("LIBDIR", TOOLS)
    paths = ([here] if here else []) + [os.path.join(folder, TOOLS) for folder in folders]
    return next((os.path.abspath(path) for path in paths if os.path.exists(path)), None)


def command(words: List[str]) -> List[str]:
    """The command that starts the job."""
    options, script = split(words)
    oshrun = find_oshrun()
    wanted = {option.lstrip("-").partition("=")[0] for option in options if option.startswith("-")} & TOOL_OPTIONS
    if wanted:
        tools = tools_of(oshrun)
        if tools:
            options = options + ["-x", f"LD_PRELOAD={tools}"]
    return [oshrun, *options, "--", sys.executable, *script]


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if words else sys.stderr)
        return 0 if words else 2
    if not split(words)[1]:
        print("python3 -m pgas: no script\n" + USAGE, file=sys.stderr)
        return 2
    try:
        line = command(words)
    except LibraryError as error:
        print(f"python3 -m pgas: {error}", file=sys.stderr)
        return 127
    os.execv(line[0], line)
    return 127


if __name__ == "__main__":
    sys.exit(main())
