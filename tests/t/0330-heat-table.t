#!/usr/bin/env bash
# The table of buffers at its smallest: waves, files, both kinds of training, the report. What its figures are is the
# table's.
TEST_LIMIT=400
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -x "$builddir/examples/heat/heat2d" ] || skip_all "heat2d is not built (no MPI)"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
export PYTHONPATH=$builddir/python TMPDIR=$T

ok "figures of a run: its rate, and how long it stood still" "$STRETTO_PYTHON" - <<'PY'
from stretto.examples.heat_report import Run, table
def made(policy, seed, when, waves, loss):
    return {"policy": policy, "ranks": 2, "seed": seed, "load": 0, "seconds": 9, "samples": 1000, "unique": 500, "waves": waves,
            "train": [[10 * (i + 1), t, 1] for i, t in enumerate(when)], "validation": [[0, when[0], 5000], [50, when[-1], loss]]}
# batches of ten on two ranks: 200 samples a point; none from 3 to 10 s, where the members of the first wave have gone
# at 2 s
raw = made("fifo", 1, [101, 102, 103, 110, 111, 114], [[100, 102, 4], [109, 111, 4]], 80)
run = Run(raw)
assert abs(run.rate - 1000 / 13) < 1e-9, run.rate
assert run.longest_wait() == 7 and run.stood_still() == 6 and run.gaps == [(2, 9)]
assert run.loss == 80 and run.least == 80 and run.repeats == 2
offline = [Run(made("offline", 1, [50, 51, 52], [], 40)), Run(made("offline", 2, [50, 52, 54], [], 60))]
assert offline[0].rate == 200 and offline[0].stood_still() == 0 and offline[0].gaps == []
rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table([run] + offline).splitlines()[2:]]
# compared with the offline training of the same seed
assert rows[0] == ["FIFO", "2", "80.0", "80.0", "77", "0.38", "6.0", "7.0", "2.00", "9"], rows[0]
assert rows[1] == ["offline, 1 epoch", "2", "50.0 (40.0–60.0)", "50.0 (40.0–60.0)", "150", "1.00", "0.0 (0.0–0.0)", "1.5", "2.00", "9"], rows[1]
PY
ok "files stand for a stream: each sample once, with its parameters and its step" "$STRETTO_PYTHON" - <<'PY'
import json, os
import numpy
from stretto.examples.heat_offline import Files
os.mkdir("files")
for member in range(3):
    numpy.save(f"files/{member}.npy", numpy.array([[[100 * member + step]] for step in range(1, 5)], dtype="float32"))
with open("files/members.json", "w") as file:
    json.dump({"names": ["t0", "tw"], "rows": [[member, -member] for member in range(3)]}, file)
seen = []
for rank in range(2):
    rx = Files("files", 4, 4, rank, 2)
    assert (rx.count, rx.parameters, rx.fields["temperature"].shape) == (3, ["t0", "tw"], (1, 1))
    for batch in rx.batches(7):
        member, step = batch["member"].tolist(), batch["step"].tolist()
        assert batch["temperature"].flatten().tolist() == [100 * m + s for m, s in zip(member, step)]
        assert batch["params"].tolist() == [[m, -m] for m in member]
        seen += zip(member, step)
    rx.metric("a", 5, 0.5)
    rx.save("series.json")
assert sorted(seen) == [(m, s) for m in range(3) for s in range(1, 5)] and seen != sorted(seen)
with open("series.json") as file:
    [[step, _, value]] = json.load(file)["series"]["a"]["points"]
assert (step, value) == (5, 0.5)
try:
    Files("files", 5, 4, 0, 1)
except RuntimeError as error:
    assert "has 4 steps, not 5" in str(error)
else:
    raise AssertionError("files of other lengths")
PY
ok "an ensemble that can no longer be complete is not waited for" "$STRETTO_PYTHON" - <<'PY'
from stretto.examples.heat_daemon import Daemon
class Told(Daemon):
    """A daemon that has one ensemble, which is as it is told to be."""
    def __init__(self, state, training, failed):
        self._running, self.ensemble = {7}, {"state": state, "reason": "so it is", "members": {"failed": failed},
                                             "training": training and {"state": training, "reason": "no GPU"}}
    def __exit__(self, *exception):
        pass
    def call(self, method, path, body=None):
        return {"members": [{"index": 3, "reason": "no mesh"}]} if "members" in path else self.ensemble
for state, training, failed in (("cancelled", None, 0), ("failed", "done", 0), ("running", "failed", 0), ("running", "running", 1),
                                ("complete", "failed", 0)):
    try:
        Told(state, training, failed).complete(7, 20)
    except RuntimeError as error:
        assert "ensemble 7 has failed" in str(error) and "so it is" in str(error) and "no mesh" in str(error), error
        continue
    raise AssertionError((state, training, failed))
assert Told("complete", "done", 0).complete(7, 20)["state"] == "complete"
PY
ok "what still runs at the end is cancelled, and its jobs are waited for" "$STRETTO_PYTHON" - <<'PY'
from stretto.examples.heat_daemon import Daemon
class Process:
    def __init__(self, asked):
        self.asked = asked
    def poll(self):
        return None
    def terminate(self):
        self.asked.append("terminate")
    def wait(self):
        self.asked.append("wait")
class Ending(Daemon):
    """A daemon whose ensemble 7 has two jobs, which end one after the other; it has lost the ensemble 8."""
    def __init__(self):
        self._running, self.asked, self.states = {7: None, 8: None}, [], ["running running", "running ended", "ended running", "ended ended"]
        self._process = Process(self.asked)
    def call(self, method, path, body=None):
        if "8" in path:
            raise RuntimeError("no such ensemble")
        if method == "POST":
            self.asked.append(path)
            return {}
        assert self.asked == ["/v1/ensembles/7/cancel"] and path == "/v1/jobs?ensemble=7", (self.asked, path)
        return {"jobs": [{"state": state} for state in self.states.pop(0).split()]}
with Ending() as daemon:
    pass
assert daemon.states == [] and daemon.asked == ["/v1/ensembles/7/cancel", "terminate", "wait"], (daemon.states, daemon.asked)
PY
# A matplotlib that writes down what it is asked for, since the real one is not on each machine.
mkdir -p drawn/matplotlib
cat >drawn/matplotlib/__init__.py <<'PY'
rcParams = {}
def use(backend):
    assert backend == "svg"
PY
cat >drawn/matplotlib/pyplot.py <<'PY'
class Axes:
    def __init__(self):
        self.asked, self.labels, self.has_legend = {}, [], False
    def legend(self, **how):
        self.has_legend = True
    def __getattr__(self, name):
        def note(*what, **how):
            self.asked.setdefault(name, []).append(what)
            self.labels += [how["label"]] if how.get("label") else []
        return note
class Figure:
    def tight_layout(self):
        pass
    def savefig(self, path, metadata):
        with open(path, "w") as file:
            file.write("drawn")
def subplots(rows, columns, **how):
    global all_axes
    all_axes = [[Axes() for _ in range(columns)] for _ in range(rows)]
    return Figure(), all_axes
def close(figure):
    pass
PY
ok "the plot has a column for each number of ranks, and each part its legend, its grid and the words of its axes" \
	env PYTHONPATH="$PYTHONPATH:$T/drawn" "$STRETTO_PYTHON" - <<'PY'
from matplotlib import pyplot
from stretto.examples.heat_report import NAMES, Run, plot
def made(policy, ranks, seed):
    return Run({"policy": policy, "ranks": ranks, "seed": seed, "load": 0, "seconds": 9, "samples": 1000, "unique": 500,
                "waves": [] if policy == "offline" else [[100, 102, 4], [109, 111, 4]],
                "train": [[10 * (i + 1), 101 + i, 1] for i in range(6)], "validation": [[0, 101, 5000], [50, 106, 80]]})
plot([made(policy, ranks, seed) for policy in ("fifo", "offline") for ranks in (1, 4) for seed in (1, 2)], "drawn.svg")
rates, losses = pyplot.all_axes
assert len(rates) == len(losses) == 2
for axes in rates + losses:
    assert axes.has_legend and "grid" in axes.asked and "set_xlabel" in axes.asked and "set_ylabel" in axes.asked
    assert len(axes.labels) == len(set(axes.labels)) > 0, axes.labels
for axes in losses:
    assert axes.labels == [NAMES["fifo"], NAMES["offline"]] and len(axes.asked["plot"]) == 4, axes.asked
assert [axes.asked["set_title"][0][0].split(" (")[0] for axes in rates] == ["1 rank", "4 ranks"]
assert open("drawn.svg").read() == "drawn"
PY
small() { # OPTION...
	timeout $((300 * PATIENCE)) "$STRETTO_PYTHON" -m stretto.examples.heat_table --out table --seeds 3 --waves 4,3 --gap 0.2 --steps 10 --substeps 3000 --grid 8 \
		--capacity 40 --threshold 8 --hidden 8 --validate-every 2 --report-every 1 --validation-members 1 "$@"
}
runs() { jq -c "$1" table/runs.jsonl; }
status_is 0 "a stream in two waves" small --policies reservoir --ranks 1
status_is 0 "the same offline, on two ranks" small --policies offline --ranks 2
is "$(runs '[.policy, .ranks, .seed, .unique, .drawn, .duplicates]')" \
	$'["reservoir",1,3,70,70,0]\n["offline",2,3,70,70,0]' "each took every sample of both waves, once"
# A wave is paused once its last member has gone: where that takes longer than a member runs, some of the next go with
# it, and are told.
is "$(runs '[.waves | length, (map(.[2]) | add), (. == [] or .[0][2] >= 4)]')" $'[2,7,true]\n[0,null,true]' "the waves are told as they were"
ok "and the second began after the first had ended, and the gap" \
	jq -e -s '.[0].waves[1][0] - .[0].waves[0][1] >= 0.2' table/runs.jsonl
is "$(jq -s '.[1].samples' table/runs.jsonl)" 70 "offline, each sample is learnt once"
is "$(grep -c -E '^\| (Reservoir|offline)' table/table.md)" 4 "the table has a line for each, and one for each run"
if "$STRETTO_PYTHON" -c 'import matplotlib' 2>/dev/null; then
	ok "the plot is there" grep -q '</svg>' table/table.svg
else
	skip "no matplotlib, no plot"
fi
status_is 0 "runs that are there already are not repeated" small --policies reservoir --ranks 1
is "$(wc -l <table/runs.jsonl) $(wc -l <"$T/out")" "2 0" "none was"
status_is 1 "nor mixed with runs of other settings" small --grid 9
like "$(cat "$T/err")" "other settings" "which is said"
is "$(find "$T" -maxdepth 1 -name 'heat-*')" "" "the daemon's directory and the files are gone"
done_testing
