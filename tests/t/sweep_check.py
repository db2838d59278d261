"""Does a report say of real runs what follows from their points? Reads these through the API, and computes it by itself.

    sweep_check.py SOCKET ENSEMBLE [PARAMETER]

Asks `stretto report` for rows and tables, grouped by the parameter (workers), and fails if a rank, an area, the best run of a group or
the fate of a run is another one. It is for members with one attempt each.
"""

import csv
import http.client
import io
import json
import math
import re
import socket
import statistics
import subprocess
import sys
from datetime import datetime


class Daemon(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("stretto")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)

    def get(self, path):
        self.request("GET", path)
        return json.load(self.getresponse())

    def pages(self, path, key):
        cursor = ""
        while cursor is not None:
            page = self.get(f"{path}&cursor={cursor}" if cursor else path)
            yield from page[key]
            cursor = page["next"]


def seconds(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def curve_of(daemon, ensemble, index, began):
    points = list(daemon.pages(f"/v1/ensembles/{ensemble}/members/{index}/points?name=loss&limit=100", "points"))
    assert all("first" not in point for point in points), "points were merged"
    return [(seconds(point["time"]) - began, math.nan if point["value"] is None else point["value"]) for point in points]


def area(curve, horizon):
    """From the first point on; the last value holds after it, and lines are straight in between."""
    total, (time, value) = 0.0, curve[0]
    horizon += time
    for at, now in [*curve[1:], (math.inf, curve[-1][1])]:
        end = min(at, horizon)
        if end > time:
            slope = 0 if math.isinf(at) else (now - value) / (at - time)
            total += (end - time) * (value + slope * (end - time) / 2)
        time, value = max(at, time), now
    return total


def read_runs(daemon, ensemble):
    for member in daemon.pages(f"/v1/ensembles/{ensemble}/members?limit=10&metrics=loss", "members"):
        last = member["last_attempt"]
        assert member["attempts"] == 1, member
        began = seconds(last["started"])
        curve = curve_of(daemon, ensemble, member["index"], began)
        yield {"index": member["index"], "parameters": member["parameters"], "curve": curve, "time": seconds(last["ended"]) - began,
               "good": member["state"] == "succeeded" and math.isfinite(curve[-1][1]), "outcome": last["outcome"]}  # fmt: skip


def main():
    path, ensemble, group = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "workers"
    runs = list(read_runs(Daemon(path), ensemble))
    good, bad = [run for run in runs if run["good"]], [run for run in runs if not run["good"]]
    horizon = statistics.median(run["curve"][-1][0] - run["curve"][0][0] for run in good)
    for run in good:
        run["area"] = area(run["curve"], horizon)
    good.sort(key=lambda run: run["area"])

    text = subprocess.run(["stretto", "report", ensemble, "--group", group, "--csv"], check=True, capture_output=True, text=True).stdout
    rows = {int(row["index"]): row for row in csv.DictReader(io.StringIO(text))}
    assert sorted(rows) == [run["index"] for run in sorted(runs, key=lambda run: run["index"])], rows.keys()
    for rank, run in enumerate(good, 1):
        row = rows[run["index"]]
        assert (row["fate"], row["rank"]) == ("ranked", str(rank)), (run["index"], rank, row)
        assert math.isclose(float(row["area"]), run["area"], rel_tol=1e-6, abs_tol=1e-3), (run["index"], run["area"], row)
        assert float(row["last"]) == run["curve"][-1][1], row
    for run in bad:
        row = rows[run["index"]]
        assert (row["fate"], row["rank"], run["outcome"]) == ("diverged", "", "diverged"), row
        twins = [twin for twin in good if all(twin["parameters"][name] == run["parameters"][name] for name in (group, "batch"))]
        assert all(len(run["curve"]) < len(twin["curve"]) for twin in twins), f"member {run['index']} was not ended early"
        assert not math.isfinite(run["curve"][-1][1]) or run["curve"][-1][1] > 1e30, run["curve"][-1]

    tables = subprocess.run(["stretto", "report", ensemble, "--group", group], check=True, capture_output=True, text=True).stdout
    best = {}
    for run in good:
        best.setdefault(str(run["parameters"][group]), run["index"])
    for value, index in best.items():
        line = next((line for line in tables.splitlines() if re.match(rf"{value} +\d+ of \d+ ", line)), "")
        assert re.match(rf"{value} +\d+ of \d+ +{ensemble}\.{index} ", line), (value, index, tables)
    points = [len(run["curve"]) for run in good], [len(run["curve"]) for run in bad]
    print(f"{len(good)} ranked over {horizon:.3f} s with {min(points[0])} points or more, {len(bad)} diverged after {max(points[1], default=0)} "
          f"points or fewer; the best: {', '.join(f'{group} {value}: {ensemble}.{index}' for value, index in sorted(best.items()))}")


main()
