"""Runs a Python program, and kills at its calls of a daemon: kills_at.py POINTS PIDFILE PROGRAM...

POINTS are like "sent:3:daemon,answered:5:self": as soon as its third request is on its way, the process whose id is in the file;
once it has its fifth answer, itself."""
import http.client
import os
import runpy
import signal
import sys

points, pidfile, program = set(sys.argv[1].split(",")), sys.argv[2], sys.argv[3:]
made = {"sent": 0, "answered": 0}


def note(what):
    made[what] += 1
    if f"{what}:{made[what]}:daemon" in points:
        try:
            os.kill(int(open(pidfile).read()), signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has just been killed for another point
    if f"{what}:{made[what]}:self" in points:
        os.kill(os.getpid(), signal.SIGKILL)


def after(method, what):
    def noted(self, *args, **named):
        result = method(self, *args, **named)
        note(what)
        return result
    return noted


http.client.HTTPConnection.request = after(http.client.HTTPConnection.request, "sent")
http.client.HTTPConnection.getresponse = after(http.client.HTTPConnection.getresponse, "answered")
sys.argv = program
runpy.run_path(program[0], run_name="__main__")
