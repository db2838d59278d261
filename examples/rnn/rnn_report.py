"""Ranks the trainings of an ensemble and of its follow-ups, from the histories that they left.

    python3 -m stretto.examples.rnn_report RUN_DIR/e7

RUN_DIR/e7 is the directory of the first ensemble: its members' checkpoint directories are those of the follow-ups, too.
Trainings are ranked by the area under the curve of held-out losses, which prefers those that learn soon, and by the
last loss. Trainings whose losses are not numbers are listed separately.
"""

import argparse
import collections
import csv
import glob
import json
import math
import os
import sys

from stretto.examples.rnn_history import History

READ = {"epoch": int, "train_loss": float, "validation_loss": float, "seconds": float, "attempt": str}
Result = collections.namedtuple("Result", "member arguments epochs attempts area loss")


def read_history(path):
    with open(path, encoding="utf-8", newline="") as file:
        return History({name: READ[name](value) for name, value in row.items()} for row in csv.DictReader(file))


def read_result(directory):
    history = read_history(os.path.join(directory, "history.csv"))
    with open(os.path.join(directory, "arguments.json"), encoding="utf-8") as file:
        arguments = json.load(file)
    return Result(int(os.path.basename(os.path.dirname(directory))), arguments, len(history),
                  len({record["attempt"] for record in history.records}), history.area(),
                  history.records[-1]["validation_loss"])


def results(ensemble):
    """Return the results of all members that have ended their training, in the order of their numbers."""
    paths = glob.glob(os.path.join(glob.escape(ensemble), "members", "*", "*", "checkpoint", "history.csv"))
    return sorted((read_result(os.path.dirname(path)) for path in paths), key=lambda result: result.member)


def ranked(found):
    """Return (the trainings whose losses are numbers, least area first; the others)."""
    good = [result for result in found if math.isfinite(result.area) and math.isfinite(result.loss)]
    by_area = sorted(good, key=lambda result: (result.area, result.loss))
    return by_area, [result for result in found if result not in good]


def table(good, best):
    by_loss = {result.member: place for place, result in enumerate(sorted(good, key=lambda result: result.loss), 1)}
    yield f"{'rank':>4} {'by loss':>7} {'member':>6} {'area':>9} {'last loss':>10} {'epochs':>6} {'jobs':>4}  arguments"
    for place, result in enumerate(good[:best], 1):
        arguments = " ".join(f"{name}={value}" for name, value in result.arguments.items())
        yield (f"{place:>4} {by_loss[result.member]:>7} {result.member:>6} {result.area:>9.4f} {result.loss:>10.6f} "
               f"{result.epochs:>6} {result.attempts:>4}  {arguments}")


def main(argv=None):
    p = argparse.ArgumentParser(prog="rnn_report", description=__doc__.splitlines()[0])
    p.add_argument("ensemble", help="its directory in the run directory")
    p.add_argument("--best", type=int, default=10, help="how many to show (%(default)s)")
    options = p.parse_args(argv)
    good, bad = ranked(results(options.ensemble))
    if not good and not bad:
        print(f"rnn_report: no training in {options.ensemble} has ended yet", file=sys.stderr)
        return 1
    print("\n".join(table(good, options.best)))
    if bad:
        print("not numbers: members " + ", ".join(str(result.member) for result in bad))
    return 0


if __name__ == "__main__":
    sys.exit(main())
