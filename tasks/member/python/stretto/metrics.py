"""Metrics and progress of an ensemble member, for programs with or without a training to stream to.

    import stretto

    stretto.metric("loss", step, loss)
    stretto.progress(step, steps)

Each call appends a line to the file that STRETTO_METRICS names. A program that is not run under stretto still runs: the
calls then do nothing.
"""

import json
import os
import threading
import time

_NAME_MAX = 100
_lock = threading.Lock()
_fd = None


def _append(line):
    global _fd  # pylint: disable=global-statement
    with _lock:
        if _fd is None:
            path = os.environ.get("STRETTO_METRICS")
            if not path:
                return
            _fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        # one call, so that the lines of several processes do not mix
        os.write(_fd, (json.dumps(line) + "\n").encode())


def metric(name, step, value):
    """Report a value of a metric, such as a loss, at a step of the training.

    The value may be NaN or infinite. A step that is not above the last one of this name replaces what was reported from
    that step on. A name has at most 100 bytes and no control characters.
    """
    name = str(name)
    if not name or len(name.encode()) > _NAME_MAX or not name.isprintable():
        raise ValueError("a metric's name has 1 to %d bytes, without control characters: %r" % (_NAME_MAX, name))
    _append({"name": name, "step": int(step), "value": float(value), "time": time.time()})


def progress(done, total=1.0):
    """Report how far the member is: so much is done of the total."""
    part = float(done) / float(total)
    if not -float("inf") < part < float("inf"):
        raise ValueError("no part of a whole: %r of %r" % (done, total))
    _append({"progress": min(1.0, max(0.0, part)), "time": time.time()})
