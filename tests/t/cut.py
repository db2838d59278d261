"""Cuts the connections of processes: cut.py PID...

Each connected stream socket of theirs, by TCP or within the host, is shut down in both directions, as if the other side had closed it.
Nothing is cut where this may not be done to another process of one's own."""
import ctypes
import os
import socket
import sys

PIDFD_GETFD = 438  # the same number on all machines


def cut(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(pid)
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            if not os.readlink("/proc/%d/fd/%s" % (pid, name)).startswith("socket:"):
                continue
        except OSError:
            continue
        fd = libc.syscall(PIDFD_GETFD, process, int(name), 0)
        if fd < 0:
            continue
        with socket.socket(fileno=fd) as theirs:
            try:
                if theirs.type == socket.SOCK_STREAM:
                    theirs.getpeername()
                    theirs.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


for word in sys.argv[1:]:
    try:
        cut(int(word))
    except OSError:
        pass
