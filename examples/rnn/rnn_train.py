"""Trains a recurrent network on a series, in as many jobs as it takes.

    python3 -m stretto.examples.rnn_train --cell gru --hidden 32 --lr 0.005

stretto runs it as a member of an ensemble: see rnn.json. After each epoch it leaves a checkpoint with the weights, the
optimiser, the order in which the data comes, and the history. A training that goes on from a checkpoint continues as it
would have done anyway, to the last bit where the machine and the number of threads are the same. It stops by itself,
with exit status 0, when its next epoch does not fit into the time that its job has left. When all epochs are done it
leaves result.json in its working directory, which "success" in the spec asks for, and history.csv, weights.pt and
arguments.json in its checkpoint directory.

Without stretto it runs as well; --checkpoints then names the directory for checkpoints.
"""

import argparse
import io
import json
import math
import os
import sys
import time

import numpy
import torch

import stretto
from stretto.examples.rnn_arguments import BATCHES, RATES
from stretto.examples.rnn_history import History, write_whole
from stretto.examples.rnn_model import CELLS, Training
from stretto.examples.rnn_series import SAMPLES, mackey_glass, windows

# The next epoch with its checkpoint may take so many times as long as the longest one so far.
MARGIN = 1.5


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def parser():
    p = argparse.ArgumentParser(prog="rnn_train", description=__doc__.splitlines()[0])
    p.add_argument("--data", help="a series (.npy) instead of that of rnn_series")
    p.add_argument("--cell", choices=sorted(CELLS), default="gru", help="(%(default)s)")
    p.add_argument("--hidden", type=positive, default=32, help="width of the recurrent layer (%(default)s)")
    p.add_argument("--lr", type=float, default=RATES[1], help="Adam's learning rate (%(default)s)")
    p.add_argument("--batch", type=positive, default=BATCHES[0], help="windows in a batch (%(default)s)")
    p.add_argument("--length", type=positive, default=20, help="values in a window (%(default)s)")
    p.add_argument("--epochs", type=positive, default=30, help="in all (%(default)s)")
    p.add_argument("--seed", type=int, default=1, help="of the first weights and of the order of windows (%(default)s)")
    p.add_argument("--threads", type=positive, default=1, help="of PyTorch (%(default)s)")
    p.add_argument("--most", type=positive, help="epochs in one job, whatever time it has left: to try things out")
    p.add_argument("--checkpoints", help="directory for them (STRETTO_CHECKPOINT_DIR)")
    p.add_argument("--restart", help="the checkpoint to go on from")
    return p


class Run:
    """A training with its history, its checkpoints, and the arguments that both belong to."""

    def __init__(self, options, member, directory):
        self.options, self.member, self.directory = options, member, directory
        # a follow-up counts attempts from 1 again
        self.attempt = os.environ.get("STRETTO_ENSEMBLE", "0") + "." + os.environ.get("STRETTO_ATTEMPT", "1")
        self.arguments = {name: getattr(options, name) for name in ("cell", "hidden", "lr", "batch", "length", "seed")}
        inputs, wanted = windows(numpy.load(options.data) if options.data else mackey_glass(SAMPLES), options.length)
        self.training = Training(options.cell, options.hidden, options.lr, options.batch, options.seed, inputs, wanted)
        self.history = History()

    def restart(self, path):
        saved = torch.load(path)
        if saved["arguments"] != self.arguments:
            raise ValueError(f"{path} belongs to a training with other arguments: {saved['arguments']}, not "
                             f"{self.arguments}")
        self.history = History(saved["history"])
        self.training.restore(saved["state"])

    def epoch(self):
        began = time.monotonic()
        train, validation = self.training.epoch()
        self.history.add(epoch=len(self.history) + 1, train_loss=train, validation_loss=validation,
                         seconds=time.monotonic() - began, attempt=self.attempt)
        print(f"epoch {len(self.history)}: loss {train:.6f}, held out {validation:.6f}", flush=True)

    def checkpoint(self):
        path = os.path.join(self.directory, f"epoch-{len(self.history):04d}.pt")
        data = io.BytesIO()
        torch.save({"arguments": self.arguments, "history": self.history.records, "state": self.training.state()}, data)
        write_whole(path, data.getvalue())
        self.member.checkpointed(path, len(self.history))

    def finish(self):
        data = io.BytesIO()
        torch.save(self.training.model.state_dict(), data)
        write_whole(os.path.join(self.directory, "weights.pt"), data.getvalue())
        write_whole(os.path.join(self.directory, "arguments.json"), json.dumps(self.arguments).encode())
        write_whole(os.path.join(self.directory, "history.csv"), self.history.text().encode())
        loss = self.history.records[-1]["validation_loss"]
        write_whole("result.json", json.dumps({"epochs": len(self.history),
                                               "validation_loss": loss if math.isfinite(loss) else None,
                                               "area": self.history.area()
                                               if math.isfinite(self.history.area()) else None}).encode())


def train(options, member):
    directory = options.checkpoints or member.checkpoint_dir or "."
    os.makedirs(directory, exist_ok=True)
    torch.set_num_threads(options.threads)
    run = Run(options, member, directory)
    if options.restart:
        run.restart(options.restart)
        print(f"going on after epoch {len(run.history)}", flush=True)
    last = len(run.history) + options.most if options.most else math.inf
    while len(run.history) < options.epochs:
        if len(run.history) >= last or member.checkpoint_due(MARGIN * run.history.longest()):
            print(f"no time for epoch {len(run.history) + 1}: to be continued", flush=True)
            return
        run.epoch()
        run.checkpoint()
    run.finish()


def main(argv=None):
    options = parser().parse_args(argv)
    try:
        with stretto.open() as member:
            train(options, member)
    except (OSError, ValueError) as error:
        print(f"rnn_train: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
