# SPDX-License-Identifier: BSD-3-Clause
"""Runs oshtop in a terminal of 80 columns and 12 lines, presses keys, and compares what it draws.

    screen.py OSHTOP JOB q|ctrl-c|stop|job FILE     FILE: what the job waits for
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

WIDTH, HEIGHT = 80, 12
oshtop, job, end, file = sys.argv[1:]


def fail(words):
    print(words)
    sys.exit(1)


class Terminal:
    """What was written to it, and the lines that it shows."""

    def __init__(self):
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            time.sleep(0.3)  # the size comes first
            os.execv(oshtop, [oshtop, "-i", "0.2", job])
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        self.before = termios.tcgetattr(self.fd)

    def read(self, seconds=0.05):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode()
            except OSError:  # the other side is gone
                return False
        return True

    def press(self, keys):
        self.text = ""
        os.write(self.fd, keys.encode())

    def until(self, pattern, what):
        limit = time.time() + 60
        while not re.search(pattern, self.text):
            if time.time() > limit:
                fail(f"{what}: not within a minute: {self.text[-2000:]!r}")
            self.read()

    def status(self):
        limit = time.time() + 60
        while time.time() < limit:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read() and select.select([self.fd], [], [], 0)[0]:
                    pass
                return status
        fail("it does not end")


def pictures(text):
    """The complete pictures: each from the upper left corner to its end."""
    for picture in re.findall(r"\x1b\[H((?:(?!\x1b\[H).)*)\x1b\[J", text, re.S):
        yield re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", picture).split("\n")


terminal = Terminal()
terminal.until(r"\x1b\[J(.|\n)*\x1b\[J", "two pictures")
if "\x1b[?1049h" not in terminal.text or "\x1b[?25l" not in terminal.text:
    fail("it does not take the screen")
if termios.tcgetattr(terminal.fd)[3] & termios.ICANON:
    fail("it does not read single keys")
for picture in pictures(terminal.text):
    if len(picture) > HEIGHT or max(map(len, picture)) > WIDTH:
        fail(f"a picture is too large: {picture}")
    if not picture[0].startswith(f"job {job} on ") or not picture[1].startswith("20 PEs: "):
        fail(f"another picture: {picture}")
    if not re.match(r" +0 ", picture[4]) or not re.search(r"and 1[0-9] more PEs", "\n".join(picture)):
        fail(f"no PE 0, or no number of those left out: {picture}")
terminal.press("\x1b[6~")
terminal.until(r"\n +[4-9] (.|\n)*\x1b\[J", "the next page")
terminal.press("G")
terminal.until(r"\n +19 (.|\n)*\x1b\[J", "the last page")
terminal.press("gr")
terminal.until(r"\n +19 (.|\n)*\x1b\[J", "the other way round")
if end == "q":
    terminal.press("q")
elif end == "ctrl-c":
    terminal.press("\x03")
elif end == "stop":
    terminal.press("\x1a")
    terminal.until(r"\x1b\[\?1049l", "it gives the screen back when it stops")
    limit = time.time() + 60
    while os.waitpid(terminal.pid, os.WNOHANG | os.WUNTRACED)[0] == 0:
        if time.time() > limit:
            fail("it does not stop")
        terminal.read()
    if termios.tcgetattr(terminal.fd)[3] != terminal.before[3]:
        fail("the terminal is not as before while it is stopped")
    terminal.text = ""
    os.kill(terminal.pid, signal.SIGCONT)
    terminal.until(r"\x1b\[\?1049h(.|\n)*\x1b\[J", "it goes on")
    terminal.press("q")
else:
    open(file, "w").close()
status = terminal.status()
expected = signal.SIGINT if end == "ctrl-c" else 0
if status != expected:
    fail(f"status {status:#x}, expected {expected:#x}")
if not terminal.text.count("\x1b[?1049l") or "\x1b[?25h" not in terminal.text:
    fail(f"it does not give the screen back: {terminal.text!r}")
if end == "job" and not terminal.text.rstrip().endswith(f"oshtop: job {job} has ended"):
    fail(f"no line at the end: {terminal.text!r}")
if termios.tcgetattr(terminal.fd)[3] != terminal.before[3]:
    fail("the terminal is not as before")
print("as it should be")
