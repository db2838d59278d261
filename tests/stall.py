#!/usr/bin/env python3
"""Runs a command on a machine that stalls: stall.py [--seed N] [--pause FROM,TO] [--stall FROM,TO] [--one] COMMAND...

Now and then all processes that the command has started are stopped for a moment, and go on together, as on a virtual machine whose host has no
time for it. --one: only those of one test script, or one process alone, chosen by chance. Times are in seconds; --pause is the time between two
stalls. Processes that somebody else has stopped stay as they are. The exit status is the command's.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time

MARK = b"STRETTO_STALL=%d" % os.getpid()


def environment(pid):
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def state(pid):
    """Its name and its state, or nothing of one that has gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            name, rest = file.read().split(b"(", 1)[1].rsplit(b")", 1)
            return name.decode(errors="replace"), rest.split()[0].decode()
    except OSError:
        return "", ""


def processes():
    """The pids that the command has started and that run, each with the directory of its test."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            words = environment(int(name))
            if MARK in words:
                found[int(name)] = next((word for word in words if word.startswith(b"STRETTO_TEST=")), b"")
    return found


def choose(found, one):
    if one and found:
        if random.random() < 0.5:
            return [random.choice(sorted(found))]
        test = random.choice(sorted(set(found.values())))
        return [pid for pid in found if found[pid] == test]
    return list(found)


def watches(pid):
    """The daemon, runners and pilots tell stopped processes from others: none of them may see what is done here."""
    return state(pid)[0].startswith("stretto")


def send(pids, number):
    sent = []
    for pid in pids:
        try:
            os.kill(pid, number)
            sent.append(pid)
        except ProcessLookupError:
            pass
    return sent


def stall(options):
    stopped = []
    for _ in range(1 if options.one else 3):  # those, too, that were started meanwhile
        pids = [pid for pid in choose(processes(), options.one) if pid not in stopped and state(pid)[1] not in ("", "T", "Z")]
        stopped += send(sorted(pids, key=watches, reverse=True), signal.SIGSTOP)
    time.sleep(random.uniform(*options.stall))
    send([pid for pid in stopped if not watches(pid)], signal.SIGCONT)
    send([pid for pid in stopped if watches(pid)], signal.SIGCONT)
    return len(stopped)


def times(text):
    first, last = map(float, text.split(","))
    return first, last


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--pause", type=times, default=(0.5, 8))
    parser.add_argument("--stall", type=times, default=(1, 5))
    parser.add_argument("--one", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    random.seed(options.seed)
    command = subprocess.Popen(options.command, env=dict(os.environ, STRETTO_STALL=str(os.getpid())))
    stalls = 0
    while True:
        try:
            command.wait(random.uniform(*options.pause))
            break
        except subprocess.TimeoutExpired:
            stalls += stall(options) > 0
    print("stall.py: %d stalls, --seed %d" % (stalls, options.seed), file=sys.stderr)
    return command.returncode if command.returncode >= 0 else 128 - command.returncode


sys.exit(main())
