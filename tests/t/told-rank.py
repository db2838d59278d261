#!/usr/bin/env python3
"""told-rank.py ROUNDS FACTOR [FILE]: a rank that only tells, as docs/run-directory.md has it, what a training would: losses that fall, a NaN, a
buffer that fills. Its first generation fails after half of the rounds; the second goes on until no more members will come. FILE: after
half of its rounds it waits for that."""

import json
import math
import os
import sys
import time

ROUNDS, FACTOR, FILE = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
HERE = os.environ["STRETTO_TRAINING_DIR"]
GENERATION = int(os.path.basename(HERE)[1:])


def whole(path, value):
    with open(path + ".tmp", "w") as file:
        json.dump(value, file)
    os.rename(path + ".tmp", path)


def status(i, state):
    n = 100 * i
    return {"version": 1, "generation": GENERATION, "rank": 0, "time": time.time(), "state": state, "received": n + i, "unique": n, "duplicates": i,
            "rejected": 0, "drawn": 80 * i, "batches": 30 * i, "repeats": 220 * i, "population": min(n, 600), "unseen": 20 * i % 130, "bytes": 400 * n,
            "memory_bytes": 0, "finalized": 0, "capacity": 600, "samples_per_second": 300.0, "room_wait_seconds": 0.05 * max(0, i - 6),
            "sample_wait_seconds": 0.3 * min(i, 9), "draws": [40 * i, 20 * i, 15 * i, 5 * i, 0, 0, 0, 0], "rejected_by": {}}


def points(i):
    for step in range(30 * i, 30 * (i + 1)):
        train = FACTOR * (10 * math.exp(-step / 60) + 0.01 * (1.5 + math.sin(step)))
        yield {"name": "train_loss", "step": step, "time": time.time(), "value": None if step == 77 else train}
        if step % 30 == 0:
            yield {"name": "validation_loss", "step": step, "time": time.time(), "value": 1.3 * train}
            yield {"name": "learning_rate", "step": step, "time": time.time(), "value": 0.002 / (1 + step // 150)}


whole(f"{HERE}/../stream/g{GENERATION}-rank0.json",
      {"version": 1, "generation": GENERATION, "rank": 0, "ranks": 1, "host": "here", "endpoints": ["ipc:///nowhere"]})
i = 0
with open(f"{HERE}/metrics-rank0.jsonl", "a") as metrics:
    while not (i >= ROUNDS and os.path.exists(f"{HERE}/reception.json")):
        if GENERATION == 1 and i == ROUNDS // 2:
            sys.exit("the first generation fails")
        if i < ROUNDS and not (FILE and i == ROUNDS // 2 and not os.path.exists(FILE)):
            for point in points(i):
                metrics.write(json.dumps(point) + "\n")
            metrics.flush()
            i += 1
        whole(f"{HERE}/status-rank0.json", status(i, "receiving"))
        time.sleep(0.6)
whole(f"{HERE}/done-rank0.json", status(i, "done"))
