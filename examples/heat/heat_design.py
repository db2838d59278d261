"""Compares sets of simulations: trains the surrogate on each for the same number of batches, and validates it.

    python3 -m stretto.examples.heat_design --members 20,40,80 --seeds 5 adaptive-{seed}.jsonl halton-{seed}.jsonl

A file has the parameters of one simulation a line, as JSON objects, in the order in which they were chosen; {seed}
stands for 1, 2, … as it does for the seed of the training. heat2d computes them. Prints for each name and number of
first members the mean of the validation loss in K² over the seeds, with its standard deviation. All is by one process,
so that nothing depends on how fast the machine is.
"""

import json
import os
import statistics
import sys

import numpy
import torch

from stretto.examples import heat_surrogate
from stretto.examples.heat_validation import HeldOut

GRID = 16


class Design(HeldOut):
    """The fields of simulations whose parameters a file has."""

    def __init__(self, names, rows, *rest):
        self._rows = rows
        super().__init__(names, len(rows), *rest)

    def _compute(self, solver, names, i, grid, dt, substeps):
        self.params = self._rows
        return numpy.array(super()._compute(solver, names, i, grid, dt, substeps))


def train(design, members, options, seed):
    """Train on the first members for options.batches batches."""
    options.seed = seed
    trainer = heat_surrogate.Trainer(
        options, design.params.shape[1], (GRID, GRID), torch.device("cpu"), 1, options.batch
    )
    source = numpy.random.default_rng(seed)
    for number in range(options.batches):
        member = source.integers(members, size=options.batch)
        place = source.integers(options.steps, size=options.batch)
        fields = numpy.stack([design.fields[i][j] for i, j in zip(member, place)])
        batch = {
            heat_surrogate.FIELD: torch.from_numpy(fields),
            "params": torch.from_numpy(design.params[member]),
            "member": torch.from_numpy(member),
            "step": torch.from_numpy(place + 1),
        }
        trainer.learn(batch, number / options.batches)
    return trainer


def read(name):
    with open(name, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    names = list(rows[0])
    return names, numpy.array([[row[name] for name in names] for row in rows])


def main(argv=None):
    p = heat_surrogate.parser("heat_design", __doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--members", default="20,40,80", help="numbers of first members, with commas (%(default)s)")
    p.add_argument("--seeds", type=heat_surrogate.positive, default=5, help="(%(default)s)")
    p.add_argument("--batches", type=heat_surrogate.positive, default=3000, help="of each training (%(default)s)")
    p.add_argument("--batch", type=heat_surrogate.positive, default=10, help="samples in a batch (%(default)s)")
    options = p.parse_args(argv)
    heat_surrogate.set_up(options)
    scale = heat_surrogate.Scale(options.low, options.high, options.steps)
    names = read(options.files[0].format(seed=1))[0]
    rest = (scale, GRID, options.dt, options.substeps, options.validation_seed)
    with HeldOut(names, options.validation_members, *rest) as held_out:
        for file in options.files:
            losses = {int(number): [] for number in options.members.split(",")}
            for seed in range(1, options.seeds + 1):
                with Design(*read(file.format(seed=seed)), *rest) as design:
                    for members, list_of in losses.items():
                        list_of.append(held_out.loss(train(design, members, options, seed).model, torch.device("cpu")))
            for members, list_of in losses.items():
                spread = statistics.stdev(list_of) if len(list_of) > 1 else 0
                print(f"{os.path.basename(file)}: {members} members: {statistics.mean(list_of):.1f} ± {spread:.1f} K² "
                      f"({', '.join(f'{loss:.1f}' for loss in list_of)})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
