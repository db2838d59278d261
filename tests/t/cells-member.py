"""An ensemble member that sends STEPS steps of two fields in some order: cells-member.py ORDER STEPS GO PAUSE

ORDER: 1 or 10, so far apart are the steps; irregular; random; fields: one field of some steps, then the other one. The
second half waits for the file GO. PAUSE, in seconds, is behind each step.
"""

import os
import random
import sys
import time

import numpy
import stretto

order, count, go, pause = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
rng = random.Random(int(os.environ.get("STRETTO_MEMBER", "0")))
if order == "irregular":
    steps = [0]
    while len(steps) < count:
        steps.append(steps[-1] + rng.randint(1, 13))
else:
    steps = [s * (10 if order == "10" else 1) for s in range(count)]
if order == "random":
    rng.shuffle(steps)

with stretto.open() as member:
    for half in steps[:count // 2], steps[count // 2:]:
        if half and half[0] == steps[count // 2]:
            while not os.path.exists(go):
                time.sleep(0.05)
        for names in ("a", "b") if order == "fields" else ("ab",):
            for step in half:
                member.send(step, **{name: numpy.full(4, step % 7, numpy.float32) for name in names})
                time.sleep(pause)
