#!/usr/bin/env python3
"""Does a training that is killed, or gets other ranks, learn as much as one that is left alone? By hand, with a build without
sanitizers, whose programs are on PATH and whose Python package is on PYTHONPATH:

    python3 SRCDIR/tests/bench/disturbed.py [--seeds 1,2,3,4,5] [--policies firo,reservoir] [--kinds alone,killed,resized]

Each run is the heat example at small scale: 40 members of 20 steps, of which each sample is learnt. A rank is killed, or
the number of ranks is changed (1, 2, 1, 2), when a quarter, half and three quarters of the samples have come. Prints a line
for each run, and then a table: the validation loss at the end, and after as many steps of the optimiser as the run with the
fewest has made (the last point that is not later); --curves FILE gets all points.

With a FIRO all make the same number of steps. With a Reservoir that is a matter of time: it draws for as long as members
stream. Members that run on while there are no ranks, until all that the width allows have sent everything and wait, take
steps away from the training, so it has one at a time. With --width 4 the killed ones and the resized ones make fewer steps, and
have their learning rate, which follows the samples that have been drawn, halved after fewer of them.
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time

from stretto.examples.heat_daemon import Daemon
from stretto.examples.heat_parameters import SOLVER_OPTIONS

MEMBERS, STEPS, GRID, LIMIT = 40, 20, 16, 900
SAMPLES = MEMBERS * STEPS
RANKS = (2, 1, 2)  # of the resized ones, after the first
# members at once, seconds before each begins, samples in a step, and the learning rate at the start
SETTINGS = {"firo": (4, 2.0, 2, 5e-3), "reservoir": (1, 1.5, 10, 1e-3)}


def spec(policy, seed, options):
    width, pause, batch, rate = SETTINGS[policy]
    solver = ["heat2d", "--grid", str(GRID), "--steps", str(STEPS), "--dt", "0.005"]
    for name, option in SOLVER_OPTIONS.items():
        solver += [option, "{%s}" % name]
    return {
        "name": f"{policy}, seed {seed}", "width": options.width or width,
        # members that begin one after another, so that samples come over some time
        "members": {"command": ["sh", "-c", f'sleep {pause}; exec "$@"', "sh", *solver], "retries": 0,
                    "parameters": {"method": "halton", "count": MEMBERS, "seed": seed,
                                   "space": {name: [100, 500] for name in SOLVER_OPTIONS}}},
        "training": {
            "command": [sys.executable, "-m", "stretto.examples.heat_surrogate", "--steps", str(STEPS), "--dt", "0.005",
                        "--hidden", "64", "--validation-members", "10", "--validate-every", "10", "--report-every", "10",
                        "--threads", "1", "--seed", str(seed), "--halvings", str(options.halvings), "--lr", str(rate)],
            "ranks": 1, "retries": 10, "checkpoint": {"every": "200ms"},
            "fields": {"temperature": {"dtype": "float32", "shape": [GRID, GRID]}},
            "buffer": {"policy": policy, "capacity": SAMPLES, "threshold": 20, "batch": batch, "seed": seed}}}


def ranks_of(job):
    """Return the processes of the training's job that are its ranks."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                command = file.read()
        except OSError:
            continue
        if f"STRETTO_JOB={job}".encode() in words and b"heat_surrogate" in command:
            found.append(int(pid))
    return sorted(found)


def disturb(daemon, number, kind, n):
    training = daemon.status(number)["training"]
    if kind == "resized":
        daemon.call("PATCH", f"/v1/trainings/{training['id']}", {"ranks": RANKS[n]})
        daemon.wait(lambda: over(daemon, number, lambda t: t["generation"] == training["generation"] + 1 and
                                 t["state"] == "running"), LIMIT, "the next generation", 0.1)
    elif kind == "killed":
        job = next(job["name"] for job in daemon.call("GET", f"/v1/jobs?ensemble={number}&limit=1000")["jobs"]
                   if job["kind"] == "training" and job["state"] == "running")
        os.kill(ranks_of(job)[-1], signal.SIGKILL)
        daemon.wait(lambda: over(daemon, number, lambda t: t["restarts"] > training["restarts"]), LIMIT, "a restart", 0.1)


def over(daemon, number, holds):
    """Return whether it holds of the training, or the ensemble has ended before."""
    ensemble = daemon.status(number)
    return ensemble["state"] != "running" or holds(ensemble["training"])


def run(daemon, policy, kind, seed, options):
    load = os.getloadavg()[0]
    number = daemon.submit(spec(policy, seed, options))
    for n in range(3):
        share = SAMPLES * (n + 1) // 4
        daemon.wait(lambda: over(daemon, number, lambda t: t["unique"] >= share and t["state"] == "running" and
                                 (t["checkpoint"] or {}).get("drawn", 0) > 0), LIMIT, "samples", 0.1)
        disturb(daemon, number, kind, n)
    training = daemon.complete(number, LIMIT)["training"]
    if training["drawn"] != SAMPLES:
        raise RuntimeError(f"{training['drawn']} samples were drawn of {SAMPLES}")
    series = daemon.call("GET", f"/v1/trainings/{training['id']}/metrics?buckets=10000")["series"]["validation_loss"]
    points = [(bucket["step"], bucket["last"]) for bucket in series["buckets"]]
    print(f"{policy} {kind} {seed}: {points[-1][1]:.0f} K² after {points[-1][0]} steps, {training['repeats']} repeats, "
          f"{training['restarts']} restarts, generation {training['generation']}, load {load:.0f}", flush=True)
    if options.curves:
        print(json.dumps({"policy": policy, "kind": kind, "seed": seed, "validation_loss": points}), file=options.curves, flush=True)
    return points, training["repeats"]


def table(runs):
    for policy in sorted({policy for policy, _ in runs}):
        kinds = [kind for one, kind in runs if one == policy]
        fewest = min(points[-1][0] for kind in kinds for points, _ in runs[policy, kind])
        print(f"\n| {policy} | loss at the end, K² | steps | repeats | loss after {fewest} steps, K² |\n"
              "| --- | ---: | ---: | ---: | ---: |")
        for kind in kinds:
            def told(values):
                return f"{statistics.median(values):.0f} ({min(values):.0f}–{max(values):.0f})"

            ends = [points[-1] for points, _ in runs[policy, kind]]
            equal = [[loss for step, loss in points if step <= fewest][-1] for points, _ in runs[policy, kind]]
            print(f"| {kind} | {told([loss for _, loss in ends])} | {told([step for step, _ in ends])} | "
                  f"{told([repeats for _, repeats in runs[policy, kind]])} | {told(equal)} |")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seeds", type=lambda text: list(map(int, text.split(","))), default=[1, 2, 3, 4, 5])
    p.add_argument("--policies", type=lambda text: text.split(","), default=["firo", "reservoir"])
    p.add_argument("--kinds", type=lambda text: text.split(","), default=["alone", "killed", "resized"])
    p.add_argument("--width", type=int, help="members at once (4 with a firo, 1 with a reservoir)")
    p.add_argument("--curves", type=argparse.FileType("a"), help="a file that the validation losses are added to")
    p.add_argument("--halvings", type=int, default=5, help="of the learning rate (%(default)s)")
    options = p.parse_args()
    runs = {}
    with tempfile.TemporaryDirectory(prefix="heat-") as directory, Daemon(directory, 8) as daemon:
        for policy in options.policies:
            for seed in options.seeds:
                for kind in options.kinds:
                    runs.setdefault((policy, kind), []).append(run(daemon, policy, kind, seed, options))
                    time.sleep(1)
    table(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
