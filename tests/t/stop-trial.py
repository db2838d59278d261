"""stop-trial.py LOG GO: "trains" a step at a time, and reports the loss of each. It ends at step 45 or later, once the file
GO/INDEX is there, and saves a checkpoint when it is told to end before that. LOG gets a line for each step."""

import json
import os
import signal
import sys
import time

index = int(os.environ["STRETTO_MEMBER"])
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
step = 0
if "STRETTO_RESUME" in os.environ:
    with open(os.environ["STRETTO_RESUME"]) as file:
        step = int(file.read())


def loss(step):
    """Curves that cross: some are good early, and others late. Many are equal, and one is NaN for a while."""
    if index == 11 and 5 <= step <= 8:
        return float("nan")
    return round(index * 7 % 11 / 11 + (index * 5 % 13) / step, 3)


with open(os.environ["STRETTO_METRICS"], "a", buffering=1) as metrics, open(sys.argv[1], "a", buffering=1) as log:
    while not asked and (step < 45 or not os.path.exists("%s/%d" % (sys.argv[2], index))):
        time.sleep(0.05)
        step += 1
        log.write("%d %d %s\n" % (index, step, os.environ["STRETTO_ATTEMPT"]))
        metrics.write(json.dumps({"step": step, "loss": loss(step)}) + "\n")
path = os.path.join(os.environ["STRETTO_CHECKPOINT_DIR"], "step-%06d" % step)
with open(path + ".part", "w") as file:
    file.write("%d\n" % step)
os.rename(path + ".part", path)
sys.exit(143 if asked else 0)
