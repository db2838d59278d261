"""A made-up sweep, and whether a report ranks it as its points say. Knows nothing of stretto but the output of the report.

    sweep_made.py make DIR               writes the points of each run, which its member reports
    sweep_made.py check CSV HORIZON      HORIZON in seconds; "median" for the default

Nineteen of 24 runs have no point in their first 2 s: they load their data. Runs 20 to 23 have many points, which are merged, and a spike.
"""

import csv
import json
import math
import random
import statistics
import sys

RUNS = 24
LATE = 19  # runs whose first point comes after 2 s


def points_of(run):
    source = random.Random(run)
    first, space, n = (2.5 + run / 4, 2.1 + run / 9, 12 + run % 5) if run < LATE else (0.3, 0.25, 400 if run >= 20 else 90)
    level, rate = 1 + 0.37 * ((run * 7) % RUNS), 0.005 + 0.02 * source.random()
    points = [(first + space * step, level * (0.2 + math.exp(-rate * step * space))) for step in range(n)]
    if run >= 20:
        points[n - 51] = points[n - 51][0], 5000.0  # between points that are kept
    return points


def area(points, horizon):
    total = 0.0
    for (at, value), (then, other) in zip(points, points[1:]):
        if at >= horizon:
            return total
        end = min(then, horizon)
        at_end = value + (other - value) * (end - at) / (then - at)
        total += (end - at) * (value + at_end) / 2
    return total + max(horizon - points[-1][0], 0) * points[-1][1]


def make(folder):
    for run in range(RUNS):
        with open(f"{folder}/{run}.jsonl", "w", encoding="utf-8") as out:
            for step, (time, value) in enumerate(points_of(run)):
                print(json.dumps({"step": step, "time": round(time, 3), "loss": value}), file=out)


def check(file, horizon):
    curves = [[(time - points[0][0], value) for time, value in points] for points in map(points_of, range(RUNS))]
    horizon = statistics.median(curve[-1][0] for curve in curves) if horizon == "median" else float(horizon)
    wanted = {run: area(curve, horizon) for run, curve in enumerate(curves) if curve[1][0] <= horizon}
    order = sorted(wanted, key=wanted.get)
    with open(file, encoding="utf-8", newline="") as text:
        rows = {int(row["index"]): row for row in csv.DictReader(text)}
    assert len(rows) == RUNS, len(rows)
    for run, row in rows.items():
        if run not in wanted:
            assert (row["rank"], row["fate"], row["area"]) == ("", "without a curve", ""), row
            assert "second point" in row["reason"], row
            continue
        assert math.isclose(float(row["area"]), wanted[run], rel_tol=0.01), (run, row["area"], wanted[run])
        assert row["rank"] == str(order.index(run) + 1), (run, row["rank"], order.index(run) + 1)
    print(f"{len(wanted)} ranked up to {horizon:g} s: {' '.join(map(str, order))}")


if sys.argv[1] == "make":
    make(sys.argv[2])
else:
    check(sys.argv[2], sys.argv[3])
