"""Runs a command on a terminal of its own, and prints what stands on its screen at the end.

    terminal.py COLUMNS LINES [--interrupt TEXT] COMMAND...

With --interrupt Ctrl-C is typed once that text has been on the screen. The exit status is the command's. Of the control sequences the
screen knows those that `stretto` uses; another one is an error.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import termios

SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, columns, lines):
        self.columns, self.height = columns, lines
        self.rows, self.row, self.column, self.wraps = [""] * lines, 0, 0, True
        self.wrapped = 0  # characters that came after the end of a line and went on in the next

    def line_feed(self):
        self.row += 1
        if self.row == self.height:
            self.rows = self.rows[1:] + [""]
            self.row -= 1

    def put(self, character):
        if self.column == self.columns:
            if self.wraps:
                self.wrapped += 1
                self.line_feed()
                self.column = 0
            else:
                self.column -= 1
        old = self.rows[self.row].ljust(self.columns)
        self.rows[self.row] = (old[:self.column] + character + old[self.column + 1:]).rstrip()
        self.column += 1

    def obey(self, private, number, letter):
        if (private, number) == ("?", "7"):
            self.wraps = letter == "h"
        elif (private, number) == ("?", "1049"):  # another screen, or the one from before, of which no test looks at the rest
            self.rows, self.row, self.column = [""] * self.height, 0, 0
        elif (private, number) == ("?", "25") or letter == "m":  # the cursor is hidden or shown; colours
            pass
        elif letter == "A":
            self.row = max(self.row - max(int(number or 1), 1), 0)  # 0 is as good as 1 on every terminal
        elif letter == "H" and number == "":
            self.row = self.column = 0
        elif letter == "J" and number == "2":
            self.rows = [""] * self.height
        elif letter in "JK" and number in ("", "0"):
            self.rows[self.row] = self.rows[self.row][:self.column]
            if letter == "J":
                self.rows[self.row + 1:] = [""] * (self.height - self.row - 1)
        else:
            raise ValueError(f"unknown control sequence {private}{number}{letter}")

    def show(self, text):
        at = 0
        while at < len(text):
            sequence = SEQUENCE.match(text, at)
            if sequence:
                self.obey(*sequence.groups())
                at = sequence.end()
                continue
            if text[at] == "\n":
                self.line_feed()
            elif text[at] == "\r":
                self.column = 0
            elif text[at] >= " ":
                self.put(text[at])
            else:
                raise ValueError(f"unknown control character {text[at]!r}")
            at += 1


def main(columns, lines, *command):
    wanted = None
    if command[0] == "--interrupt":
        wanted, command = command[1], command[2:]
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", int(lines), int(columns), 0, 0))
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    said = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        if not part:
            break
        said += part
        if wanted and wanted.encode() in said:
            os.write(terminal, b"\x03")
            wanted = None
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    screen = Screen(int(columns), int(lines))
    screen.show(said.decode())
    print("\n".join(screen.rows).rstrip("\n"))
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
