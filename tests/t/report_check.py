"""Runs of a sweep, made up by seed, as a daemon tells of them; and what a report must say of them, computed by NumPy.

    report_check.py make SEED ANSWERS      writes the answers for canned.py
    report_check.py check SEED CSV REPEAT  compares the output of `stretto report --csv` with figures of its own
"""
import csv
import datetime
import json
import math
import random
import sys

import numpy

MEMBERS = [{"lr": lr, "workers": workers, "seed": seed} for lr in (0.1, 0.5) for workers in (1, 2, 4) for seed in (1, 2, 3)]
TARGET = 0.4
CPUS = 3


def iso(seconds):
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=round(seconds * 1000))
    return moment.isoformat(timespec="milliseconds") + "Z"


def make_run(index, parameters, source):
    """Its attempts as (start, end), and its points as (attempt, time, value), in Unix seconds of whole milliseconds."""
    state = {4: "failed", 7: "running", 11: "failed"}.get(index, "succeeded")
    outcome = {4: "failed", 11: "diverged"}.get(index)  # 11: by another metric
    diverges = index in (2, 13)
    attempts, points, step = [], [], 0
    now, level = 1.7e9 + source.randrange(10**6), 2.0
    for attempt in range(1, 3 if index in (1, 8) else 2):
        start = now
        for _ in range(source.randrange(5, 30)):
            now = round(now + source.uniform(0.2, 3), 3)
            level *= source.uniform(0.8, 1.02)
            points.append({"attempt": attempt, "time": now, "value": level, "step": step})
            step += 1
        if index == 5:
            points[-3]["value"] = math.nan  # it recovers
        now = round(now + source.uniform(0, 2), 3)
        attempts.append((start, now))
        now += source.randrange(5, 500)
    if diverges:
        points[-1]["value"] = math.nan
    return {"index": index, "parameters": parameters, "state": state, "outcome": outcome, "attempts": attempts, "points": points}


def make_runs(seed):
    source = random.Random(seed)
    return [make_run(index, parameters, source) for index, parameters in enumerate(MEMBERS)]


def finite(value):
    return value if math.isfinite(value) else None


def answers(run):
    base = f"/v1/ensembles/7/members/{run['index']}"
    points = [{**point, "time": iso(point["time"]), "value": finite(point["value"])} for point in run["points"]]
    half = len(points) // 2
    path = f"{base}/points?name=loss&limit=5000"
    yield path, {"ensemble": 7, "member": run["index"], "name": "loss", "points": points[:half], "next": "a b"}
    yield f"{path}&cursor=a%20b", {"ensemble": 7, "member": run["index"], "name": "loss", "points": points[half:], "next": None}
    yield base, {"artefacts": [{"path": "model.pt", "size": 8, "sha256": f"{run['index']:064x}"}], "attempts": [{"number": number, "started": iso(start), "ended": iso(end)}
                              for number, (start, end) in enumerate(run["attempts"], 1)]}


def listed(run):
    values = [point["value"] for point in run["points"]]
    start, end = run["attempts"][-1]
    return {"index": run["index"], "state": run["state"], "attempts": len(run["attempts"]), "reason": None, "follow_up": None,
            "last_attempt": {"outcome": run["outcome"], "started": iso(start), "ended": None if run["state"] == "running" else iso(end)},
            "parameters": run["parameters"], "resources": {"tasks": run["parameters"]["workers"]},
            "metrics": {"loss": {"first_time": iso(run["points"][0]["time"]), "last_time": iso(run["points"][-1]["time"]), "last": finite(values[-1]), "points": len(values), "not_finite": sum(map(math.isnan, values))}}}


def make(seed, file):
    runs = make_runs(seed)
    replies = [("/v1/ensembles/7/spec", {"rules": {"reference": {"name": "ours", "rules": {"may_vary": ["lr"]}}, "reference_ensemble": 3,
                                                   "files": [{"path": "train.py", "sha256": 64 * "f"}]},
                                         "members": {"resources": {"tasks": "{workers}", "cpus_per_task": CPUS, "gpus": 1}}}),
               ("/v1/ensembles/7/members?limit=500&metrics=loss", {"members": [listed(run) for run in runs], "next": None}),
               ("/v1/ensembles/7", {"id": 7, "follow_up_of": None}),
               ("/v1/ensembles/7/ran", {"ran": [], "missing": []}), ("/v1/ensembles/3/ran", {"ran": [], "missing": []})]
    for run in runs:
        replies += answers(run)
    with open(file, "w", encoding="utf-8") as out:
        for path, reply in replies:
            out.write(f"GET {path} 200 {json.dumps(reply)}\n")


def figures(run, horizon):
    """The curve over the time in which attempts ran, integrated by NumPy on a grid of its points and the horizon."""
    times, before = [], 0.0
    for number, (start, end) in enumerate(run["attempts"], 1):
        times += [before + point["time"] - start for point in run["points"] if point["attempt"] == number]
        before = times[-1]
    last_start, last_end = run["attempts"][-1]
    earlier = [time for time, point in zip(times, run["points"]) if point["attempt"] < len(run["attempts"])]
    ran = (earlier[-1] if earlier else 0) + last_end - last_start
    values = numpy.array([point["value"] for point in run["points"]])
    good = numpy.isfinite(values)
    times, values = numpy.array(times)[good], values[good]
    if horizon is None:
        return times[-1] - times[0]
    since = times - times[0]
    grid = numpy.unique(numpy.concatenate([[0.0, horizon], since[since < horizon]]))
    trapezoid = getattr(numpy, "trapezoid", None) or numpy.trapz
    area = trapezoid(numpy.interp(grid, since, values), grid)  # interp() holds the last value
    reached = times[values <= TARGET]
    return {"area": area, "last": values[-1], "best": values.min(), "time_to_target": reached[0] if len(reached) else None, "time": ran}


def fate(run):
    if run["state"] == "failed":
        return run["outcome"]
    if run["state"] != "succeeded":
        return "unfinished"
    return "ranked" if math.isfinite(run["points"][-1]["value"]) else "diverged"


def check(seed, file, repeat):
    runs = make_runs(seed)
    ranked = [run for run in runs if fate(run) == "ranked"]
    horizon = numpy.median([figures(run, None) for run in ranked])
    wanted = {run["index"]: figures(run, horizon) for run in ranked}
    configs = {}
    for run in ranked:
        key = tuple(value for name, value in run["parameters"].items() if name != repeat)
        configs.setdefault(key, []).append(wanted[run["index"]]["area"])
    order = sorted(configs, key=lambda key: numpy.mean(configs[key]))
    with open(file, encoding="utf-8", newline="") as text:
        rows = {int(row["index"]): row for row in csv.DictReader(text)}
    assert sorted(rows) == list(range(len(runs))), sorted(rows)
    for run in runs:
        row, what = rows[run["index"]], run["index"]
        ended = [end - start for start, end in run["attempts"]][:None if run["state"] != "running" else -1]
        hours = sum(ended) / 3600
        assert row["fate"] == fate(run), (what, row["fate"], fate(run))
        assert abs(float(row["core_hours"]) - hours * CPUS * run["parameters"]["workers"]) < 1e-5, (what, row["core_hours"])
        assert abs(float(row["gpu_hours"]) - hours) < 1e-5, (what, row["gpu_hours"])
        if fate(run) != "ranked":
            assert row["rank"] == "" and row["area"] == "", (what, row)
            continue
        key = tuple(value for name, value in run["parameters"].items() if name != repeat)
        assert int(row["rank"]) == order.index(key) + 1, (what, row["rank"], order.index(key) + 1)
        for name, value in wanted[what].items():
            got = row[name]
            assert (got == "") == (value is None) and (value is None or abs(float(got) - value) < 1e-4 * (1 + abs(value))), \
                (what, name, got, value)
    print(f"{len(ranked)} of {len(runs)} ranked, {len(order)} configurations")


if sys.argv[1] == "make":
    make(int(sys.argv[2]), sys.argv[3])
else:
    check(int(sys.argv[2]), sys.argv[3], sys.argv[4])
