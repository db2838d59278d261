"""Trains the same surrogate offline: from fields that heat2d wrote to disk before, each seen once, in random order.

    python3 -m stretto.examples.heat_offline --data DIR --steps 100

Training on the stream is compared with this baseline. DIR holds a file INDEX.npy for each member, as heat2d --output
writes it, and members.json: {"names": [...], "rows": [[...], ...]}, the members' parameters. In the working directory,
rank0/series.json then holds what a training on the stream would have reported as metrics: for each series its points,
each as step, time and value.
"""

import collections
import contextlib
import json
import multiprocessing
import os
import sys
import time

import numpy
import torch
import torch.distributed

from stretto.examples import heat_surrogate

Field = collections.namedtuple("Field", "dtype shape")


class Files:
    """Stands for a rank's end of a stream: the same attributes, and batches from files."""

    def __init__(self, directory, steps, batch, rank, ranks):
        with open(os.path.join(directory, "members.json"), encoding="utf-8") as file:
            members = json.load(file)
        self.rank, self.ranks, self.batch_size = rank, ranks, batch
        self.parameters, self._rows = members["names"], numpy.array(members["rows"], dtype=float)
        self.count, self._steps, self._series = len(self._rows), steps, {}
        self._files = [numpy.load(os.path.join(directory, f"{i}.npy"), mmap_mode="r") for i in range(self.count)]
        wrong = [i for i, fields in enumerate(self._files) if len(fields) != steps]
        if wrong:
            raise RuntimeError(f"{directory}/{wrong[0]}.npy has {len(self._files[wrong[0]])} steps, not {steps}")
        first = self._files[0]
        self.fields = {heat_surrogate.FIELD: Field(first.dtype, first.shape[1:])}
        self.resume = self.resume_step = self.checkpoint_every = None

    @staticmethod
    def checkpoint_due():
        return False

    def on_wait(self, call):
        """Samples are always there."""

    def learnt(self):
        """Nobody asks what was learnt, since no checkpoint is saved."""

    def batches(self, seed):
        """Yield one epoch of this rank's share, in an order drawn from the seed, as a stream's DataLoader does."""
        order = numpy.random.default_rng(seed).permutation(self.count * self._steps)[self.rank::self.ranks]
        for at in range(0, len(order), self.batch_size):
            member, place = numpy.divmod(order[at : at + self.batch_size], self._steps)
            fields = numpy.stack([self._files[i][j] for i, j in zip(member, place)])
            yield {
                heat_surrogate.FIELD: torch.from_numpy(fields),
                "params": torch.from_numpy(self._rows[member]),
                "member": torch.from_numpy(member),
                "step": torch.from_numpy(place + 1),
            }

    def metric(self, name, step, value):
        self._series.setdefault(name, []).append([step, time.time(), value])

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"series": {name: {"points": points} for name, points in self._series.items()}}, file)


def parse(argv):
    p = heat_surrogate.parser("heat_offline", __doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="directory of the members' files")
    p.add_argument("--batch", type=heat_surrogate.positive, default=10, help="samples in a batch (%(default)s)")
    p.add_argument("--ranks", type=heat_surrogate.positive, default=1, help="processes (%(default)s)")
    return p.parse_args(argv)


@contextlib.contextmanager
def group(files, device):
    """Make PyTorch's process group of the ranks, which meet in a file of the directory above theirs."""
    if files.ranks == 1:
        yield
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # they are on one machine
    backend = "nccl" if device.type == "cuda" and torch.cuda.device_count() >= files.ranks else "gloo"
    torch.distributed.init_process_group(backend, init_method="file://" + os.path.abspath("../ranks"),
                                         rank=files.rank, world_size=files.ranks)
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()


def train_as(rank, options):
    """Train one rank, in a directory of its own."""
    os.mkdir(f"rank{rank}")
    os.chdir(f"rank{rank}")
    heat_surrogate.set_up(options)
    files = Files(options.data, options.steps, options.batch, rank, options.ranks)
    heat_surrogate.train(files, options, lambda rx, device: rx.batches(options.seed), group)
    if rank == 0:
        files.save("series.json")


def main(argv=None):
    options = parse(argv)
    processes = [multiprocessing.Process(target=train_as, args=(rank, options)) for rank in range(options.ranks)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return int(any(process.exitcode != 0 for process in processes))


if __name__ == "__main__":
    sys.exit(main())
