#!/usr/bin/env python3
"""pty_session.py COLUMNS LINES COMMAND [ARGUMENT...]: runs the command on a terminal of that size and answers what it shows.

The terminal's bytes go to standard output as they come. On standard input stand orders, one a line:

    until TEXT    wait until the screen, as it is now, has this text
    gone TEXT     wait until it has not
    key TEXT      type it; ^C and ^Z are the control characters
    type TEXT     the same, and the Enter key
    size C L      the terminal has another size now, as the kernel tells who is in its foreground
    signal NAME   send it that signal

Each is answered by "ok" or, when nothing more will come, "not ok" and the screen, on standard error. At the end of the orders
the command is waited for, and the last line there is "exit STATUS wrapped N modes kept", or changed: how it ended, how many lines were longer than the terminal is
wide, and whether the terminal's modes are those from before.
"""

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

from terminal import SEQUENCE, Screen

LIMIT_S = 20 * int(os.environ.get("STRETTO_TEST_PATIENCE", "5"))  # for what never comes


def resize(terminal, columns, lines):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))


class Session:
    def __init__(self, columns, lines, command):
        self.screen, self.text, self.rest = Screen(columns, lines), codecs.getincrementaldecoder("utf-8")(), ""
        self.fd, self.inside = pty.openpty()  # the inside stays open: its modes are asked for at the end
        resize(self.inside, columns, lines)
        self.flags = termios.tcgetattr(self.inside)[3]
        self.open = True
        self.child = subprocess.Popen(command, stdin=self.inside, stdout=self.inside, stderr=self.inside, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def read(self, seconds):
        """Take what has come. False: nothing came, or nothing will."""
        if not self.open or not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        if data == b"":
            self.open = False
            return False
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        self.rest += self.text.decode(data)
        whole = self.rest.rfind("\x1b")
        if whole < 0 or SEQUENCE.match(self.rest, whole):
            whole = len(self.rest)
        self.screen.show(self.rest[:whole])
        self.rest = self.rest[whole:]
        return True

    def shown(self):
        return "\n".join(self.screen.rows)

    def wait(self, holds):
        until = time.monotonic() + LIMIT_S
        while not holds(self.shown()):
            if time.monotonic() > until:
                return False
            if not self.read(1) and (not self.open or self.child.poll() is not None):
                return False
        return True

    def order(self, line):
        word, _, rest = line.partition(" ")
        if word == "until":
            return self.wait(lambda text: rest in text)
        if word == "gone":
            return self.wait(lambda text: rest not in text)
        if word == "key":
            os.write(self.fd, rest.replace("^C", "\x03").replace("^Z", "\x1a").encode())
        elif word == "type":
            os.write(self.fd, f"{rest}\n".encode())
        elif word == "size":
            columns, lines = (int(n) for n in rest.split())
            resize(self.fd, columns, lines)
            self.screen = Screen(columns, lines)
        elif word == "signal":
            self.child.send_signal(getattr(signal, rest))
        else:
            sys.exit(f"no such order: {line}")
        return True

    def end(self):
        until = time.monotonic() + LIMIT_S
        while self.child.poll() is None:
            self.read(0.05)
            if time.monotonic() > until:
                print(f"not ok: it does not end\n{self.shown()}", file=sys.stderr, flush=True)
                self.child.kill()
        while self.read(0):
            pass
        kept = termios.tcgetattr(self.inside)[3] == self.flags
        print(f"exit {self.child.returncode} wrapped {self.screen.wrapped} modes {'kept' if kept else 'changed'}", file=sys.stderr)


def main():
    session = Session(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        if not session.order(line.rstrip("\n")):
            print(f"not ok: {line}{session.shown()}", file=sys.stderr, flush=True)
            session.child.kill()  # a shell does not listen to SIGTERM, and what is stopped does not, either
            break
        print("ok", file=sys.stderr, flush=True)
    session.end()


main()
