"""rung-trial.py STEPS LOG: "trains" a step at a time, up to STEPS, and reports the loss of each. Members of even index know
STRETTO_UNTIL; the others end when they get SIGUSR1. Both save a checkpoint at their end. LOG gets a line for each step."""

import json
import os
import signal
import sys
import time

index = int(os.environ["STRETTO_MEMBER"])
knows = index % 2 == 0
until = int(os.environ["STRETTO_UNTIL"]) if knows else int(sys.argv[1])
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
step = 0
if "STRETTO_RESUME" in os.environ:
    with open(os.environ["STRETTO_RESUME"]) as file:
        step = int(file.read())


def loss(step):
    """Curves that cross: some are good early, and others late. Many are equal."""
    return round(index * 7 % 11 / 11 + (index * 5 % 13) / step, 3)


with open(os.environ["STRETTO_METRICS"], "a", buffering=1) as metrics, open(sys.argv[2], "a", buffering=1) as log:
    while step < until and not asked:
        time.sleep(0.002 if knows else 0.05)
        step += 1
        log.write("%d %d %s\n" % (index, step, os.environ["STRETTO_ATTEMPT"]))
        metrics.write(json.dumps({"step": step, "loss": loss(step)}) + "\n")
path = os.path.join(os.environ["STRETTO_CHECKPOINT_DIR"], "step-%06d" % step)
with open(path + ".part", "w") as file:
    file.write("%d\n" % step)
os.rename(path + ".part", path)
