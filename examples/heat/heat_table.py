"""The table of buffers: the same simulations, trained on through a FIFO, a FIRO and a Reservoir, and offline.

    python3 -m stretto.examples.heat_table --out DIR

Repeats at small scale the experiment of "High Throughput Training of Deep Surrogates from Large Ensemble Runs" (SC'23).
Members come in waves: an ensemble is paused once a wave has been submitted, and resumed `--gap` seconds after the
wave's last member has ended. All runs are ensembles of a separate strettod. Each run's result is appended to
DIR/runs.jsonl as it ends (runs that are in there already are not repeated); then heat_report makes the table and the
plots of them.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from datetime import datetime

from stretto.examples import heat_report
from stretto.examples.heat_daemon import Daemon
from stretto.examples.heat_parameters import SOLVER_OPTIONS

POLICIES = ("fifo", "firo", "reservoir", "offline")
SPACE = {name: [100, 500] for name in SOLVER_OPTIONS}
LIMIT = 1800  # one run may take so many seconds


def numbers(text):
    return [int(word) for word in text.split(",")]


def parse(argv):
    p = argparse.ArgumentParser(prog="heat_table", description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, help="directory of the results")
    p.add_argument("--waves", type=numbers, default=[100, 100, 50], help="members in each (100,100,50)")
    p.add_argument("--gap", type=float, default=10.0, help="seconds between two waves (%(default)s)")
    p.add_argument("--steps", type=int, default=100, help="time steps of a member (%(default)s)")
    p.add_argument("--grid", type=int, default=32, help="points in each direction (%(default)s)")
    p.add_argument("--substeps", type=int, default=1, help="of the solver in a time step: more make slower members "
                   "(%(default)s)")
    p.add_argument("--capacity", type=int, default=6000, help="samples in a rank's buffer (%(default)s)")
    p.add_argument("--threshold", type=int, default=1000, help="samples below which nothing is drawn (%(default)s)")
    p.add_argument("--seeds", type=numbers, default=[1, 2, 3], help="of parameters, buffers and weights (1,2,3)")
    p.add_argument("--ranks", type=numbers, default=[1, 2], help="how many to train with (1,2)")
    p.add_argument("--policies", type=lambda text: text.split(","), default=POLICIES, help=",".join(POLICIES))
    p.add_argument("--hidden", type=int, default=256, help="width of the hidden layers (%(default)s)")
    p.add_argument("--validate-every", type=int, default=250, help="batches (%(default)s)")
    p.add_argument("--report-every", type=int, default=10, help="batches (%(default)s)")
    p.add_argument("--validation-members", type=int, default=10, help="members never trained on (%(default)s)")
    options = p.parse_args(argv)
    unknown = [policy for policy in options.policies if policy not in POLICIES]
    if unknown:
        p.error(f"--policies: there is no {', '.join(unknown)}")
    return options


def halves():
    """Return the CPUs for the members and for the training, as taskset takes them. A single CPU is shared."""
    cpus = sorted(os.sched_getaffinity(0))
    middle = max(len(cpus) // 2, 1)
    return ",".join(map(str, cpus[:middle])), ",".join(map(str, cpus[middle:] or cpus))


class Experiment:
    def __init__(self, options, daemon, directory):
        self.options, self.daemon, self.directory = options, daemon, directory
        self.member_cpus, self.training_cpus = halves()
        self.data = None  # (seed, directory) of the files for the offline training

    def members(self, seed, more=()):
        o = self.options
        command = ["taskset", "-c", self.member_cpus, "heat2d", "--grid", str(o.grid), "--steps", str(o.steps),
                   "--substeps", str(o.substeps), *more]
        for name, option in SOLVER_OPTIONS.items():
            command += [option, "{%s}" % name]
        return {"command": command, "env": {"OMP_NUM_THREADS": "1"}, "resources": {"walltime": "10m"}, "retries": 0,
                "parameters": {"method": "halton", "count": sum(o.waves), "seed": seed, "space": SPACE}}

    def training(self, module, seed):
        o = self.options
        return ["taskset", "-c", self.training_cpus, sys.executable, "-m", module, "--steps", str(o.steps),
                "--substeps", str(o.substeps), "--hidden", str(o.hidden), "--lr", "1e-3", "--halvings", "2",
                "--threads", "1", "--seed", str(seed), "--report-every", str(o.report_every),
                "--validate-every", str(o.validate_every), "--validation-members", str(o.validation_members)]

    def stream(self, policy, ranks, seed):
        """Run one ensemble that streams into a training, and return its result."""
        o, daemon = self.options, self.daemon
        number = daemon.submit({
            "name": f"{policy}, {ranks} ranks, seed {seed}",
            "members": self.members(seed),
            "width": max(o.waves),
            "training": {
                "command": self.training("stretto.examples.heat_surrogate", seed),
                "ranks": ranks,
                "resources": {"walltime": "30m"},
                "fields": {"temperature": {"dtype": "float32", "shape": [o.grid, o.grid]}},
                "buffer": {"policy": policy, "capacity": o.capacity, "threshold": o.threshold, "batch": 10,
                           "seed": seed},
            },
        })
        # the ensemble is paused before its training is ready for the first member
        daemon.wait(lambda: daemon.status(number)["training"]["state"] != "pending", 60, "the training to be submitted")
        daemon.call("POST", f"/v1/ensembles/{number}/pause")
        daemon.wait(lambda: daemon.status(number)["training"]["state"] == "running", 120, "the training to run")
        waves = self.waves(number)
        ensemble = daemon.complete(number, LIMIT)
        training = ensemble["training"]
        metrics = daemon.call("GET", f"/v1/trainings/{training['id']}/metrics?buckets=10000")["series"]
        metrics = {name: {"points": [[b["step"], b["time"], b["last"]] for b in one["buckets"]]}
                   for name, one in metrics.items()}
        result = self.result(metrics, lambda text: datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
        return dict(result, waves=waves, unique=training["unique"], drawn=training["drawn"],
                    duplicates=training["duplicates"], samples=self.samples(number, ranks))

    def waves(self, number):
        """Submit wave after wave. Returns [first submission, last end, members] of each, as it really was."""
        daemon, gone, waves = self.daemon, 0, []

        def gone_now():
            members = daemon.status(number)["members"]
            return sum(members.values()) - members["pending"]

        def ended():
            return daemon.status(number)["members"]["succeeded"]

        for size in self.options.waves:
            if waves:
                time.sleep(self.options.gap)  # what a batch queue would take; nothing is waited for
            began, before = time.time(), gone
            daemon.call("PATCH", f"/v1/ensembles/{number}", {"width": size})
            daemon.call("POST", f"/v1/ensembles/{number}/resume")
            wanted = min(before + size, sum(self.options.waves))
            daemon.wait(lambda: gone_now() >= wanted, 60, "a wave to be submitted", 0.001)
            daemon.call("POST", f"/v1/ensembles/{number}/pause")
            daemon.wait(lambda: ended() == gone_now(), LIMIT, "a wave to end")
            gone = gone_now()
            waves.append([began, time.time(), gone - before])
        daemon.call("POST", f"/v1/ensembles/{number}/resume")
        return waves

    def samples(self, number, ranks):
        """Return what all ranks learnt from, repeated samples included, by their own count."""
        total = 0
        for rank in range(ranks):
            with open(f"{self.daemon.state}/run/e{number}/training/g1/rank{rank}/books.json", encoding="utf-8") as file:
                total += json.load(file)["samples"]
        return total

    def result(self, metrics, to_time):
        """Return the series, with times in seconds since the Epoch."""
        def series(name):
            return [[step, to_time(when), value] for step, when, value in metrics[name]["points"]]

        return {"train": series("train_loss"), "validation": series("validation_loss")}

    def write_files(self, seed):
        """Run the same members again and let them write their fields. Returns the directory, and how long it took."""
        if self.data is None or self.data[0] != seed:
            began, directory = time.time(), os.path.join(self.directory, f"data-{seed}")
            os.mkdir(directory)
            number = self.daemon.submit({"name": f"files, seed {seed}", "width": max(self.options.waves),
                                         "members": self.members(seed, ["--output", directory + "/{index}.npy"])})
            self.daemon.complete(number, LIMIT)
            path = f"/v1/ensembles/{number}/members?limit=1000"
            rows = [member["parameters"] for member in self.daemon.call("GET", path)["members"]]
            with open(os.path.join(directory, "members.json"), "w", encoding="utf-8") as file:
                json.dump({"names": list(SPACE), "rows": [[row[name] for name in SPACE] for row in rows]}, file)
            if self.data is not None:
                shutil.rmtree(self.data[1])
            self.data = (seed, directory, time.time() - began)
        return self.data[1:]

    def offline(self, ranks, seed):
        """Run the training as the only member of an ensemble that streams nothing."""
        data, writing = self.write_files(seed)
        out = os.path.join(self.directory, f"offline-{ranks}-{seed}")
        os.mkdir(out)
        command = ["env", "-C", out] + self.training("stretto.examples.heat_offline", seed)
        number = self.daemon.submit({
            "name": f"offline, {ranks} ranks, seed {seed}",
            "members": {"command": command + ["--data", data, "--ranks", "{ranks}"],
                        "parameters": {"grid": {"ranks": [ranks]}},
                        "env": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}, "retries": 0,
                        "resources": {"walltime": "30m"}},
        })
        self.daemon.complete(number, LIMIT)
        with open(os.path.join(out, "rank0", "series.json"), encoding="utf-8") as file:
            result = self.result(json.load(file)["series"], float)
        books = []
        for rank in range(ranks):
            with open(os.path.join(out, f"rank{rank}", "books.json"), encoding="utf-8") as file:
                books.append(json.load(file))
        return dict(result, writing=writing, waves=[], duplicates=0, **{
            name: sum(book[key] for book in books)
            for name, key in (("unique", "unique_drawn"), ("drawn", "unique_drawn"), ("samples", "samples"))})

    def run(self, policy, ranks, seed):
        load = os.getloadavg()[0]
        if policy == "offline":
            self.write_files(seed)
        began = time.time()
        result = self.offline(ranks, seed) if policy == "offline" else self.stream(policy, ranks, seed)
        expected = sum(self.options.waves) * self.options.steps
        if result["unique"] != expected or result["drawn"] != expected:
            raise RuntimeError(f"{policy}: {result['unique']} samples received and {result['drawn']} drawn of "
                               f"{expected}")
        return dict(result, policy=policy, ranks=ranks, seed=seed, load=load, seconds=time.time() - began)


def main(argv=None):
    options = parse(argv)
    os.makedirs(options.out, exist_ok=True)
    path = os.path.join(options.out, "runs.jsonl")
    settings = {key: value for key, value in vars(options).items()
                if key not in ("out", "seeds", "ranks", "policies")} | {"cpus": len(os.sched_getaffinity(0))}
    done = heat_report.read(path) if os.path.exists(path) else []
    if any(run["settings"] != settings for run in done):
        raise SystemExit(f"heat_table: {path} holds runs with other settings")
    have = {(run["policy"], run["ranks"], run["seed"]) for run in done}
    with tempfile.TemporaryDirectory(prefix="heat-") as directory, \
            Daemon(directory, max(options.waves) + max(options.ranks)) as daemon:
        experiment = Experiment(options, daemon, directory)
        for seed in options.seeds:
            for ranks in options.ranks:
                for policy in options.policies:
                    if (policy, ranks, seed) in have:
                        continue
                    began = time.monotonic()
                    run = dict(experiment.run(policy, ranks, seed), settings=settings)
                    with open(path, "a", encoding="utf-8") as file:
                        file.write(json.dumps(run) + "\n")
                    print(f"{policy}, {ranks} ranks, seed {seed}: validation {run['validation'][-1][2]:.1f} K², "
                          f"{time.monotonic() - began:.0f} s", flush=True)
    heat_report.write(heat_report.read(path), options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
