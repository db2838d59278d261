"""stop_check.py ARRIVALS RULE NUMBER RUNGS: decides anew who runs on, where nobody pauses. ARRIVALS is a list as GET …/arrivals
has it; NUMBER is the reduction of the rule "asha-stop", or "min_members" of the rule "median"."""

import json
import math
import statistics
import sys

arrivals, rule, number, rungs = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
wrong, stops = [], 0


def size(value):
    return math.inf if value is None else value


def is_good(newest, before):
    """Whether a member runs on: `before` has the values of those that had arrived at the rung."""
    if rule == "median":
        return len(before) < number or size(newest["best"]) <= statistics.median(before)
    everyone = sorted(before + [size(newest["value"])])
    return newest["value"] is not None and newest["value"] <= everyone[max(1, len(everyone) // number) - 1]


for n, newest in enumerate(arrivals, 1):
    assert newest["arrival"] == n, newest
    before = [size(a["value"]) for a in arrivals[: n - 1] if a["rung"] == newest["rung"]]
    if newest["rung"] == rungs:
        continue
    good = is_good(newest, before)
    stops += not good
    if good != (newest["promoted"] == n):
        wrong.append(newest)
print(len(arrivals), "arrivals,", stops, "stopped,", len(wrong), "wrong", wrong or "")
sys.exit(1 if wrong or not stops else 0)
