"""rungs_check.py ARRIVALS REDUCTION RUNGS: decides anew who is promoted. ARRIVALS is a list as GET …/arrivals has it."""

import json
import sys

arrivals, reduction, rungs = json.load(open(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
told = {(a["rung"], a["index"]): a["promoted"] for a in arrivals}
made = {}
for n, newest in enumerate(arrivals, 1):
    assert newest["arrival"] == n, newest
    if newest["rung"] == rungs:
        continue
    there = [a for a in arrivals[:n] if a["rung"] == newest["rung"] and a["value"] is not None]
    everyone = sum(a["rung"] == newest["rung"] for a in arrivals[:n])
    for best in sorted(there, key=lambda a: (a["value"], a["arrival"]))[: everyone // reduction]:
        made.setdefault((best["rung"], best["index"]), n)
wrong = {place: (by, made.get(place)) for place, by in told.items() if by != made.get(place)}
print(len(arrivals), "arrivals,", len(made), "promotions,", len(wrong), "wrong", wrong or "")
sys.exit(1 if wrong else 0)
