"""Trains a surrogate of heat2d on the time steps that the members of an ensemble stream.

    python3 -m stretto.examples.heat_surrogate --steps 100

Run by stretto as the training of an ensemble: see heat.json. Losses are mean squared errors in K², as the metric
series "train_loss" and "validation_loss" over the number of batches. At the end books.json tells which samples were
drawn, and model.pt holds the network.
"""

import argparse
import os
import sys
import time

import torch
import torch.utils.data

import stretto.torch
import stretto.train
from stretto.examples.heat_books import Books
from stretto.examples.heat_model import SOLVER_OPTIONS, Scale, learning_rate, make_model
from stretto.examples.heat_validation import HeldOut

FIELD = "temperature"


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def parse(argv):
    p = argparse.ArgumentParser(prog="heat_surrogate", description=__doc__.splitlines()[0])
    p.add_argument("--hidden", type=positive, default=256, help="width of the two hidden layers (%(default)s)")
    p.add_argument("--lr", type=float, default=1e-3, help="Adam's learning rate at the start (%(default)s)")
    p.add_argument("--halvings", type=int, default=5, help="of the learning rate over the ensemble (%(default)s)")
    p.add_argument("--steps", type=positive, default=100, help="time steps of a member (%(default)s)")
    p.add_argument("--dt", type=float, help="length of a time step, where the members are given one")
    p.add_argument("--low", type=float, default=100.0, help="lowest temperature of the ensemble, in K (%(default)s)")
    p.add_argument("--high", type=float, default=500.0, help="highest temperature of the ensemble, in K (%(default)s)")
    p.add_argument("--validation-members", type=positive, default=10, help="members never trained on (%(default)s)")
    p.add_argument("--validation-seed", type=int, default=20231, help="that they are drawn with (%(default)s)")
    p.add_argument("--validate-every", type=positive, default=1000, help="batches (%(default)s)")
    p.add_argument("--report-every", type=positive, default=100, help="batches for a train_loss point (%(default)s)")
    p.add_argument("--limit", type=positive, help="learn from so many batches only; the rest is drawn and counted")
    p.add_argument("--threads", type=positive, help="of PyTorch on the CPU")
    p.add_argument("--seed", type=int, default=1, help="of the initial weights (%(default)s)")
    return p.parse_args(argv)


class Trainer:
    """The network and its optimiser, fed batch by batch; what it knows of the stream is the shape of a sample."""

    def __init__(self, options, parameters, shape, device):
        torch.manual_seed(options.seed)
        self.options, self.device = options, device
        self.scale = Scale(options.low, options.high, options.steps)
        self.model = make_model(parameters, options.hidden, shape).to(device)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=options.lr)

    def set_progress(self, progress):
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.options.lr, progress, self.options.halvings)

    def learn(self, batch):
        """One step; the batch's loss in K², left on the device."""
        inputs = self.scale.inputs(batch["params"], batch["step"]).to(self.device, non_blocking=True)
        wanted = self.scale.fields(batch[FIELD].to(self.device, non_blocking=True))
        loss = torch.nn.functional.mse_loss(self.model(inputs), wanted)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return loss.detach() * self.scale.squared_kelvin

    def save(self, path):
        """The weights and what is needed to use them, whole or not at all."""
        torch.save(
            {"model": self.model.state_dict(), "hidden": self.options.hidden, "low": self.scale.low,
             "high": self.scale.high, "steps": self.scale.steps},
            path + ".part",
        )
        os.replace(path + ".part", path)


def check(rx):
    """What of the ensemble this training can make use of; the grid."""
    if rx.ranks != 1:
        raise RuntimeError(f"this training runs on one rank, not {rx.ranks}")
    if FIELD not in rx.fields:
        raise RuntimeError(f'the ensemble streams no field "{FIELD}", but {", ".join(rx.fields)}')
    unknown = [name for name in rx.parameters if name not in SOLVER_OPTIONS]
    if unknown:
        raise RuntimeError(f"parameters are {', '.join(SOLVER_OPTIONS)}; there is no {', '.join(unknown)}")
    shape = tuple(rx.fields[FIELD].shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise RuntimeError(f'the field "{FIELD}" is of shape {shape}, not N x N')
    return shape


def train(rx, options):
    shape = check(rx)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer, books = Trainer(options, len(rx.parameters), shape, device), Books()
    total = rx.count * options.steps
    print(f"grid {shape[0]} x {shape[1]}, {rx.count} members of {options.steps} steps, on {device}", flush=True)
    held_out = HeldOut(rx.parameters, options.validation_members, trainer.scale, shape[0], options.dt,
                       options.validation_seed)
    with held_out:
        started, validated, pending = time.monotonic(), -1, []

        def validate():
            nonlocal validated
            loss = held_out.loss(trainer.model, device)
            rx.metric("validation_loss", books.batches, loss)
            print(f"batch {books.batches}: validation loss {loss:.2f} K², "
                  f"{books.unique} of {total} samples drawn, {time.monotonic() - started:.1f} s", flush=True)
            validated = books.batches

        def report():
            if pending:
                rx.metric("train_loss", books.batches, float(torch.stack(pending).mean()))
                pending.clear()

        validate()
        dataset = stretto.torch.StreamDataset(rx, pin_memory=device.type == "cuda")
        stream = torch.utils.data.DataLoader(dataset, batch_size=None)
        for batch in stream:
            books.enter(batch["member"].numpy(), batch["step"].numpy())
            if options.limit is None or books.batches <= options.limit:
                trainer.set_progress(books.unique / total)
                pending.append(trainer.learn(batch))
            if len(pending) >= options.report_every:
                report()
            if books.batches % options.validate_every == 0:
                validate()
        report()
        if validated != books.batches:
            validate()
    books.save("books.json")
    trainer.save("model.pt")
    print(books.summary(), flush=True)


def main(argv=None):
    options = parse(argv)
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # Adam's moments of weights that have come to rest slow a CPU down
    with stretto.train.open() as rx:
        train(rx, options)
        rx.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
