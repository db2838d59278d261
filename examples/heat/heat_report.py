"""The table and the plot of heat_table's runs.

    python3 -m stretto.examples.heat_report DIR

Reads DIR/runs.jsonl and writes DIR/table.md (means over the seeds, then run by run) and DIR/table.svg.
"""

import json
import os
import statistics
import sys

import numpy

BATCH = 10
COLOURS = {"fifo": "tab:red", "firo": "tab:orange", "reservoir": "tab:blue", "offline": "tab:gray"}
NAMES = {"fifo": "FIFO", "firo": "FIRO", "reservoir": "Reservoir", "offline": "offline, 1 epoch"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Run:
    """One run's figures. Times are in seconds since the submission of the first wave, or offline since the first
    batches."""

    def __init__(self, run):
        self.policy, self.ranks, self.seed = run["policy"], run["ranks"], run["seed"]
        self.load, self.repeats = run["load"], run["samples"] / run["unique"]
        self.seconds = run["seconds"] + run.get("writing", 0)  # writing: of the files that an offline training reads
        self.start = run["waves"][0][0] if run["waves"] else run["train"][0][1]
        if len(run["train"]) < 2:
            raise ValueError(f"{self.policy}, {self.ranks} ranks, seed {self.seed}: too few batches for a rate")
        points = numpy.array([[when - self.start, step * BATCH * self.ranks] for step, when, _ in run["train"]])
        self.when, self.learnt = points[:, 0], points[:, 1]  # samples that all ranks have learnt by then
        self.validation = [(step, when - self.start, value) for step, when, value in run["validation"]]
        self.loss, self.least = run["validation"][-1][2], min(value for _, _, value in run["validation"])
        self.rate = self.learnt_within(self.when[0], self.when[-1]) / (self.when[-1] - self.when[0])
        self.waves = [[began - self.start, ended - self.start, size] for began, ended, size in run["waves"]]
        self.gaps = [(a[1], b[0]) for a, b in zip(self.waves, self.waves[1:])]

    def learnt_within(self, begin, end):
        return float(numpy.interp(end, self.when, self.learnt) - numpy.interp(begin, self.when, self.learnt))

    def stood_still(self):
        """Return the seconds lost where ten batches took more than five times as long as the median."""
        waits = numpy.diff(self.when)
        typical = numpy.median(waits)
        return float((waits[waits > 5 * typical] - typical).sum())

    def longest_wait(self):
        return float(numpy.diff(self.when).max())

    def rate_over_time(self, width=1.0):
        """Return the middles of bins of so many seconds, and the samples a second in each."""
        edges = numpy.arange(0, self.when[-1] + width, width)
        learnt = numpy.interp(edges, self.when, self.learnt)
        return (edges[1:] + edges[:-1]) / 2, numpy.diff(learnt) / width


def _spread(values):
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{statistics.mean(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def _line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |\n"


def _head(titles, left):
    return _line(titles) + _line(["---"] * left + ["---:"] * (len(titles) - left))


def table(runs):
    """Return the means over the seeds, by ranks and buffer."""
    text = _head(["buffer", "ranks", "validation MSE, K²", "least on the way", "samples/s", "of offline's",
                  "stood still, s",
                  "longest wait, s", "times a sample was learnt", "s in all"], 1)
    keys = sorted({(run.ranks, list(NAMES).index(run.policy)) for run in runs})
    for ranks, place in keys:
        policy = list(NAMES)[place]
        some = [run for run in runs if (run.policy, run.ranks) == (policy, ranks)]
        base = {run.seed: run.rate for run in runs if (run.policy, run.ranks) == ("offline", ranks)}
        shares = [run.rate / base[run.seed] for run in some if run.seed in base]
        text += _line([NAMES[policy], ranks, _spread([run.loss for run in some]), _spread([run.least for run in some]),
                       f"{statistics.mean(run.rate for run in some):.0f}",
                       f"{statistics.mean(shares):.2f}" if shares else "",
                       _spread([run.stood_still() for run in some]),
                       f"{statistics.mean(run.longest_wait() for run in some):.1f}",
                       f"{statistics.mean(run.repeats for run in some):.2f}",
                       f"{statistics.mean(run.seconds for run in some):.0f}"])
    return text


def run_by_run(runs):
    text = _head(["buffer", "ranks", "seed", "validation MSE, K²", "samples/s", "stood still, s", "longest wait, s",
                  "waves", "load before", "s in all"], 1)
    for run in sorted(runs, key=lambda run: (run.ranks, list(NAMES).index(run.policy), run.seed)):
        text += _line([NAMES[run.policy], run.ranks, run.seed, f"{run.loss:.1f}", f"{run.rate:.0f}",
                       f"{run.stood_still():.1f}", f"{run.longest_wait():.1f}",
                       ", ".join(str(wave[2]) for wave in run.waves),
                       f"{run.load:.1f}",
                       f"{run.seconds:.0f}"])
    return text


def _plot_rates(axes, runs, seed):
    for run in runs:
        if run.seed == seed and run.policy != "offline":
            axes.plot(*run.rate_over_time(), color=COLOURS[run.policy], label=NAMES[run.policy])
            for k, (begin, end) in enumerate(run.gaps):  # below the curves is one strip for each buffer
                strip = list(COLOURS).index(run.policy)
                axes.axvspan(begin, end, 0.02 * strip, 0.02 * (strip + 1), color=COLOURS[run.policy], alpha=0.6,
                             linewidth=0,
                             label="between waves" if (k, strip) == (0, 0) else None)
    offline = [run.rate for run in runs if run.seed == seed and run.policy == "offline"]
    if offline:
        axes.axhline(offline[0], color=COLOURS["offline"], linestyle="--", label="offline's mean")
    axes.set_xlabel("s since the first wave was submitted")
    axes.set_ylabel("samples learnt from / s")
    axes.set_ylim(bottom=0)


def _plot_losses(axes, runs):
    named = set()
    for run in runs:
        axes.plot([step * BATCH * run.ranks for step, _, _ in run.validation], [loss for _, _, loss in run.validation],
                  color=COLOURS[run.policy], linewidth=0.9, label=None if run.policy in named else NAMES[run.policy])
        named.add(run.policy)
    axes.set_yscale("log")
    axes.set_xlabel("samples learnt from")
    axes.set_ylabel("validation MSE / K²")


def plot(runs, path):
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        print(f"no plot: {error} (Debian's python3-matplotlib has it)", file=sys.stderr)
        return
    matplotlib.use("svg")
    from matplotlib import pyplot  # pylint: disable=import-outside-toplevel

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "stretto", "font.size": 9})
    ranks = sorted({run.ranks for run in runs})
    figure, all_axes = pyplot.subplots(2, len(ranks), figsize=(5.5 * len(ranks), 7), squeeze=False)
    for i, number in enumerate(ranks):
        some = [run for run in runs if run.ranks == number]
        seed = min(run.seed for run in some)
        all_axes[0][i].set_title(f"{number} rank{'s' if number > 1 else ''} (above: seed {seed}; below: all seeds)")
        _plot_rates(all_axes[0][i], some, seed)
        _plot_losses(all_axes[1][i], some)
        for axes in (all_axes[0][i], all_axes[1][i]):
            axes.legend(fontsize=7)
            axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def write(raw, out):
    runs = [Run(run) for run in raw]
    with open(os.path.join(out, "table.md"), "w", encoding="utf-8") as file:
        file.write(table(runs) + "\n" + run_by_run(runs))
    plot(runs, os.path.join(out, "table.svg"))


def main():
    if len(sys.argv) != 2:
        raise SystemExit("usage: heat_report DIR")
    write(read(os.path.join(sys.argv[1], "runs.jsonl")), sys.argv[1])


if __name__ == "__main__":
    main()
