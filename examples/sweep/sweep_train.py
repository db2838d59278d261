"""Trains a small convolutional network to tell striped images apart, by one process or by several with PyTorch's DDP.

    python3 -m stretto.examples.sweep_train --optimiser adam --lr 0.001 --batch 32

stretto runs it as a member of a sweep: see sweep.json. Nothing in it is stretto's. The launcher "copies" starts one
process for each worker, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun does. Rank 0 appends lines of
JSON to the file that STRETTO_METRICS names, if it is set, and leaves model.pt in its working directory.
"""

import argparse
import json
import os
import time

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from stretto.examples.sweep_images import CHANNELS, CLASSES, SIDE, images

VALIDATION = 512  # images
SHOWN_EVERY = 5  # batches whose mean loss is one point of the curve


def parser():
    p = argparse.ArgumentParser(prog="sweep_train", description=__doc__.splitlines()[0])
    p.add_argument("--optimiser", choices=["sgd", "adam"], default="sgd", help="(%(default)s)")
    p.add_argument("--lr", type=float, default=0.05, help="learning rate (%(default)s)")
    p.add_argument("--batch", type=int, default=16, help="images in a batch of one worker (%(default)s)")
    p.add_argument("--images", type=int, default=2048, help="to learn from (%(default)s)")
    p.add_argument("--epochs", type=int, default=10, help="(%(default)s)")
    p.add_argument("--seed", type=int, default=1, help="of the first weights and of the order of images (%(default)s)")
    return p


def network():
    return nn.Sequential(
        nn.Conv2d(CHANNELS, 8, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(16 * (SIDE // 4) ** 2, CLASSES))  # fmt: skip


def tell(**values):
    """Append a line to the file of metrics. NaN stays NaN, so that a run which has diverged is known for one.

    Without a time a line would have that at which it was read, once a second."""
    if "STRETTO_METRICS" in os.environ:
        with open(os.environ["STRETTO_METRICS"], "a", encoding="ascii") as file:
            print(json.dumps({"time": time.time(), **values}), file=file)


def accuracy(model, pictures, classes):
    with torch.no_grad():
        return (model(pictures).argmax(1) == classes).float().mean().item()


class Run:
    def __init__(self, options, rank, workers):
        self.options, self.rank, self.workers = options, rank, workers
        torch.manual_seed(options.seed)
        self.model = network()
        self.shared = DistributedDataParallel(self.model) if workers > 1 else self.model
        kind = torch.optim.Adam if options.optimiser == "adam" else torch.optim.SGD
        self.optimiser = kind(self.model.parameters(), lr=options.lr)
        self.pictures, self.classes = images(options.images, seed=1)
        self.validation = images(VALIDATION, seed=2)
        self.steps, self.losses = 0, []

    def learn(self, chosen):
        loss = nn.functional.cross_entropy(self.shared(self.pictures[chosen]), self.classes[chosen])
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        self.steps += 1
        self.losses.append(loss.item())
        if self.rank == 0 and len(self.losses) == SHOWN_EVERY:
            tell(step=self.steps, loss=sum(self.losses) / SHOWN_EVERY)
        if len(self.losses) == SHOWN_EVERY:
            self.losses.clear()

    def epoch(self, number):
        """Learn from each image once. All workers draw the same order, and each takes its part of every batch."""
        source = torch.Generator().manual_seed(self.options.seed * 1000 + number)
        order = torch.randperm(len(self.classes), generator=source)
        whole = self.options.batch * self.workers
        for start in range(0, len(order) - whole + 1, whole):
            mine = start + self.rank * self.options.batch
            self.learn(order[mine : mine + self.options.batch])
        if self.rank == 0:
            right = accuracy(self.model, *self.validation)
            tell(step=self.steps, accuracy=right)
            print(f"epoch {number}: accuracy {right:.3f} after {self.steps} batches", flush=True)


def main():
    options = parser().parse_args()
    rank, workers = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    torch.set_num_threads(1)
    if workers > 1:
        torch.distributed.init_process_group("gloo")
    run = Run(options, rank, workers)
    for number in range(1, options.epochs + 1):
        run.epoch(number)
    if rank == 0:
        torch.save(run.model.state_dict(), "model.pt")
    if workers > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
