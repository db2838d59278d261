"""Writes the arguments of the trainings, one line each, to the file that the spec names as "parameters": {"file": …}.

    python3 -m stretto.examples.rnn_arguments --out arguments.jsonl

Every combination of cell, width, learning rate and batch size, in a fixed order: line n belongs to member n.
"""

import argparse
import itertools
import json
import os
import sys

CELLS = ("gru", "lstm")
WIDTHS = (16, 24, 32, 48, 64)
RATES = (0.01, 0.005, 0.002, 0.001, 0.0005)
BATCHES = (32, 64)


def combinations():
    """Return 100 combinations."""
    for cell, hidden, lr, batch in itertools.product(CELLS, WIDTHS, RATES, BATCHES):
        yield {"cell": cell, "hidden": hidden, "lr": lr, "batch": batch}


def main(argv=None):
    p = argparse.ArgumentParser(prog="rnn_arguments", description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, help="the file to write (.jsonl)")
    p.add_argument("--count", type=int, default=100, help="the first so many (%(default)s)")
    options = p.parse_args(argv)
    if not 1 <= options.count <= 100:
        p.error("--count: from 1 to 100")
    with open(options.out + ".part", "w", encoding="utf-8") as file:
        for line in itertools.islice(combinations(), options.count):
            file.write(json.dumps(line) + "\n")
    os.replace(options.out + ".part", options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
