#!/usr/bin/env python3
"""What durable.c has written down, judged.

    durable.py names LOG [PATTERN]     a line for each file that got its name, in order: its path's last component, and
                                       "flushed" or "not flushed" (as it was then), "in a flushed directory" where the thread
                                       flushed that before it did anything else; for each file that was flushed under the
                                       name that it has: "itself flushed" (as it is now); lines that the test "told", too
    durable.py order LOG PATTERN       what of such paths was flushed, got its name or was made, in order, without the numbers in the
                                       names of accounts of streams and of temporary files
    durable.py copies LOG DIR          a line for each file in DIR: was it flushed as it is now, and DIR after it, before the
                                       commit?
    durable.py database LOG            what is wrong with the checkpoints of the database's log, of which there must be two"""
import os
import re
import sys
from collections import namedtuple

Event = namedtuple("Event", "process thread what path inode size time")


def read(log):
    return [Event(*line.rstrip("\n").split("\t")) for line in open(log)]


def is_same(flushed, event):
    return flushed.what == "flush" and flushed[4:] == event[4:]


def name(events, i):
    event = events[i]
    later = next((e for e in events[i + 1:] if e.thread == event.thread), None)
    directory = later is not None and later.what == "flush" and later.path == os.path.dirname(event.path)
    return "{} {}{}".format(os.path.basename(event.path), "flushed" if any(is_same(e, event) for e in events[:i]) else "not flushed",
                            ", in a flushed directory" if directory else "")


def as_it_is(path):
    st = os.stat(path)
    return (str(st.st_ino), str(st.st_size), str(st.st_mtime_ns))


def names(log, pattern="."):
    events = read(log)
    for i, event in enumerate(events):
        if event.what == "told":
            print(event.path)
        elif event.what == "name" and re.search(pattern, event.path):
            print(name(events, i))
        elif event.what == "flush" and re.search(pattern, event.path) and os.path.isfile(event.path):
            print(os.path.basename(event.path), "itself flushed" if event[4:] == as_it_is(event.path) else "flushed too early")


def order(log, pattern):
    lines = []
    for event in read(log):
        if event.what in ("flush", "name", "made") and re.search(pattern, event.path):
            base = re.sub(r"^stream-[^.]*", "stream", os.path.basename(event.path))
            line = "{} {}".format(event.what, re.sub(r"json\..*tmp$", "json.tmp", base))
            lines += [line] if lines[-1:] != [line] else []
    print("\n".join(lines))


def copies(log, folder):
    events = read(log)
    commit = next((i for i, e in enumerate(events) if e.what == "commit"), -1)
    for file in sorted(os.listdir(folder), key=lambda file: file.split(".")[-1]):
        path = f"{folder}/{file}"
        flushed = next((i for i, e in enumerate(events) if e.what == "flush" and e[4:] == as_it_is(path)), len(events))
        directory = any(e.what == "flush" and e.path == folder for e in events[flushed:max(commit, 0)])
        print(file.split(".")[-1], "flushed" if flushed < commit else "not flushed", "with its name" if directory else "without its name")


def database(log):
    """A checkpoint is what one thread writes to the database itself. That thread has flushed the log before; and the database has been
    flushed when the log is written from its start again."""
    last, owed, count, begun = {}, False, 0, False
    for e in read(log):
        is_log = e.path.endswith(".db-wal")
        begun = begun or (e.what == "write" and is_log) # before that there is no log: the database is new
        if not begun or not (is_log or e.path.endswith(".db")):
            continue
        if e.what == "write" and not is_log:
            if last.get(e.thread) == ("flush", True):
                count += 1
            elif last.get(e.thread) != ("write", False):
                print("the database is written to, and its log is not flushed")
            owed = True
        elif e.what == "flush" and not is_log:
            owed = False
        elif e.what == "begin" and owed:
            print("the log begins anew, and the database is not flushed")
            owed = False
        if e.what in ("write", "flush"):
            last[e.thread] = (e.what, is_log)
    if count < 2:
        print(f"{count} checkpoints")


if __name__ == "__main__":
    {"names": names, "order": order, "copies": copies, "database": database}[sys.argv[1]](*sys.argv[2:])
