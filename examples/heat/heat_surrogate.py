"""Trains a surrogate of heat2d on the time steps that the members of an ensemble stream.

    python3 -m stretto.examples.heat_surrogate --steps 100

Run by stretto as the training of an ensemble: see heat.json. Losses are mean squared errors in K², as the metric
series "train_loss" and "validation_loss" over the number of batches. At the end books.json tells which samples were
drawn, and model.pt holds the network. With several ranks each learns from its own batches, gradients are averaged over
all, and rank 0 validates and keeps the network. Where the spec's training has "checkpoint", it saves checkpoints, and
goes on from the newest after a failure or the end of its time, or with another number of ranks.
"""

import argparse
import contextlib
import os
import sys
import time

import torch
import torch.utils.data

import stretto.distributed
import stretto.torch
import stretto.train
from stretto.examples.heat_books import Books
from stretto.examples.heat_model import Averaged, GlobalBatch, Scale, learning_rate, make_model
from stretto.examples.heat_parameters import SOLVER_OPTIONS
from stretto.examples.heat_validation import HeldOut

FIELD = "temperature"


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return value


def parser(prog, description):
    """The options of a training, which are the same wherever its samples come from."""
    p = argparse.ArgumentParser(prog=prog, description=description)
    p.add_argument("--hidden", type=positive, default=256, help="width of the two hidden layers (%(default)s)")
    p.add_argument("--lr", type=float, default=1e-3, help="Adam's learning rate at the start (%(default)s)")
    p.add_argument("--halvings", type=int, default=5, help="of the learning rate over the ensemble (%(default)s)")
    p.add_argument("--steps", type=positive, default=100, help="time steps of a member (%(default)s)")
    p.add_argument("--dt", type=float, help="length of a time step, where the members are given one")
    p.add_argument("--substeps", type=positive, help="of a time step, where the members are given them")
    p.add_argument("--low", type=float, default=100.0, help="lowest temperature of the ensemble, in K (%(default)s)")
    p.add_argument("--high", type=float, default=500.0, help="highest temperature of the ensemble, in K (%(default)s)")
    p.add_argument("--validation-members", type=positive, default=10, help="members never trained on (%(default)s)")
    p.add_argument("--validation-seed", type=int, default=20231, help="that they are drawn with (%(default)s)")
    p.add_argument("--validate-every", type=positive, default=1000, help="batches (%(default)s)")
    p.add_argument("--report-every", type=positive, default=100, help="batches for a train_loss point (%(default)s)")
    p.add_argument(
        "--report-members", action="store_true", help="report of each member how badly its samples are known"
    )
    p.add_argument("--limit", type=positive, help="learn from so many batches only; the rest is drawn and counted")
    p.add_argument("--threads", type=positive, help="of PyTorch on the CPU")
    p.add_argument("--seed", type=int, default=1, help="of the initial weights (%(default)s)")
    return p


class Trainer:
    """The network and its optimiser, fed batch by batch. It knows only the shape of a sample of the stream."""

    def __init__(self, options, parameters, shape, device, ranks, batch):
        torch.manual_seed(options.seed)
        self.options, self.device = options, device
        self.global_batch = GlobalBatch(ranks, batch)
        self.scale = Scale(options.low, options.high, options.steps)
        self.model = make_model(parameters, options.hidden, shape).to(device)
        # the same weights, whose gradients are averaged over the ranks as they are computed
        self.averaged = Averaged(self.model).to(device)
        self.shared = torch.nn.parallel.DistributedDataParallel(self.averaged) if ranks > 1 else self.averaged
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=options.lr)
        self.members, self.errors = [], []  # of samples of which nothing was reported yet

    def together(self):
        """A context for the loop over batches: a rank that has no more of them goes on to answer those that have."""
        if self.shared is self.averaged:
            return contextlib.nullcontext()
        return self.shared.join(divide_by_initial_world_size=False)

    def set_progress(self, progress):
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.options.lr, progress, self.options.halvings) * self.global_batch.factor

    def learn(self, batch, progress):
        """Make a step for each part of the batch. Returns its loss in K², which stays on the device.

        `progress` is this rank's, and the learning rate follows the mean over all ranks.
        """
        parts = self.global_batch.split(batch) if self.global_batch.parts > 1 else [batch]
        return torch.stack([self._step(part, progress) for part in parts]).mean()

    def _step(self, batch, progress):
        step = batch["step"].to(self.device, non_blocking=True)
        inputs = self.scale.inputs(batch["params"].to(self.device), step)
        wanted = self.scale.fields(batch[FIELD].to(self.device))
        fields, nothing = self.shared(inputs, progress)
        loss = torch.nn.functional.mse_loss(fields, wanted)
        if self.options.report_members:
            self.members.append(batch["member"])
            self.errors.append((fields.detach() - wanted).square().mean(dim=(1, 2)) * self.scale.squared_kelvin)
        self.averaged.zero_grad(set_to_none=True)
        (loss + nothing).backward()
        self.set_progress(float(self.averaged.number.grad))
        self.optimiser.step()
        return loss.detach() * self.scale.squared_kelvin

    def save(self, path):
        """Write the weights and all that is needed to use them, as a whole file or not at all."""
        torch.save(
            {"model": self.model.state_dict(), "hidden": self.options.hidden, "low": self.scale.low,
             "high": self.scale.high, "steps": self.scale.steps},
            path + ".part",
        )
        os.replace(path + ".part", path)


def check(rx):
    """Return the grid. Verifies that this training can use the ensemble's fields."""
    if FIELD not in rx.fields:
        raise RuntimeError(f'the ensemble streams no field "{FIELD}", but {", ".join(rx.fields)}')
    unknown = [name for name in rx.parameters if name not in SOLVER_OPTIONS]
    if unknown:
        raise RuntimeError(f"parameters are {', '.join(SOLVER_OPTIONS)}; there is no {', '.join(unknown)}")
    shape = tuple(rx.fields[FIELD].shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise RuntimeError(f'the field "{FIELD}" is of shape {shape}, not N x N')
    return shape


class Log:
    """Reports on the way, which rank 0 makes for all: metric points and lines of text."""

    def __init__(self, rx, books, total, counted):
        self.rx, self.books, self.total, self.counted = rx, books, total, counted
        self.started, self.losses = time.monotonic(), []

    def trained(self, every):
        """Report the mean loss since the last point, once there are `every` batches of it."""
        if len(self.losses) < every:
            return
        if self.rx.rank == 0:
            self.rx.metric("train_loss", self.counted.batches, float(torch.stack(self.losses).mean()))
        self.losses.clear()

    def known(self, members, errors):
        """Report the squared errors, by member, of samples learnt since the last time, from before they were learnt."""
        if members:
            self.rx.report(torch.cat(members), torch.cat(errors))
        members.clear()
        errors.clear()

    def validated(self, loss):
        self.rx.metric("validation_loss", self.counted.batches, loss)
        print(f"batch {self.counted.batches}: validation loss {loss:.2f} K², "
              f"{self.books.unique} of {self.total} samples drawn, {time.monotonic() - self.started:.1f} s", flush=True)


def stream_batches(rx, device):
    """Train until reception is over and everything has been drawn."""
    dataset = stretto.torch.StreamDataset(rx, device=device)
    return torch.utils.data.DataLoader(dataset, batch_size=None)


def learn_all(batches, share, trainer, validate, options, log, checkpoints):
    """Train on all of a rank's batches. Those of all ranks hold `share` different samples a rank in the end."""
    books, counted = log.books, log.counted
    with trainer.together():
        for batch in batches:
            books.enter(batch["member"].numpy(), batch["step"].numpy())
            before = counted.batches
            counted.batches += counted.parts
            if options.limit is None or before < options.limit:
                log.losses.append(trainer.learn(batch, books.unique / share))
            if len(log.losses) >= options.report_every:
                log.known(trainer.members, trainer.errors)
            log.trained(options.report_every)
            if counted.batches // options.validate_every > before // options.validate_every:
                validate()
            checkpoints.step()
    log.trained(1)
    log.known(trainer.members, trainer.errors)


def held_out_of(rx, options, scale, grid):
    """Return the members with which rank 0 validates; an empty context on other ranks."""
    if rx.rank != 0:
        return contextlib.nullcontext()
    return HeldOut(rx.parameters, options.validation_members, scale, grid, options.dt, options.substeps,
                   options.validation_seed)


def train(rx, options, batches=stream_batches, group=None):
    """Train one rank. `rx` is its end of the stream.

    Where batches come from elsewhere, an object with the same attributes is in its place, and `group` makes the process
    group of the ranks.
    """
    shape = check(rx)
    device = torch.device("cpu")
    if torch.cuda.is_available():  # stretto mostly gives a rank one GPU
        device = torch.device("cuda", rx.rank % torch.cuda.device_count())
        torch.cuda.set_device(device)
    with (group or stretto.distributed.process_group)(rx, device):
        trainer = Trainer(options, len(rx.parameters), shape, device, rx.ranks, rx.batch_size)
        books, total, counted = Books(), rx.count * options.steps, trainer.global_batch
        log = Log(rx, books, total, counted)
        checkpoints = stretto.torch.Checkpoints(rx, own={"books": books}, model=trainer.model,
                                                optimiser=trainer.optimiser, batch=counted)
        print(f"grid {shape[0]} x {shape[1]}, {rx.count} members of {options.steps} steps, on {device}, "
              f"rank {rx.rank} of {rx.ranks}", flush=True)
        with held_out_of(rx, options, trainer.scale, shape[0]) as held_out:
            validated = -1

            def validate():
                nonlocal validated
                if held_out is not None and validated != counted.batches:
                    log.validated(held_out.loss(trainer.model, device))
                    validated = counted.batches

            validate()
            learn_all(batches(rx, device), total / rx.ranks, trainer, validate, options, log, checkpoints)
            validate()
        books.save("books.json")
        if rx.rank == 0:
            trainer.save("model.pt")
        print(books.summary(), flush=True)


def set_up(options):
    if options.threads:
        torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)  # Adam's moments of weights that have come to rest slow a CPU down


def main(argv=None):
    options = parser("heat_surrogate", __doc__.splitlines()[0]).parse_args(argv)
    set_up(options)
    with stretto.train.open() as rx:
        train(rx, options)
        rx.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
