"""checkpoint_bench.py BYTES ROUNDS: a rank whose model is so large, and which does nothing but save checkpoints.

In each round, in turns: a checkpoint by stretto.torch.Checkpoints, one with background=False, and torch.save() of the
same model into the same directory, with and without flushing the file. Prints one line of JSON a round, in seconds: how
long each has blocked the training, and how much of its time the whole checkpoint has cost: small steps were made until it
was listed, fewer than in the same time before.
"""

import json
import os
import sys
import time

import torch

import stretto.torch
import stretto.train

TENSORS = 16


class Steps:
    """Small training steps, which need the interpreter all the time."""

    def __init__(self):
        self._weights = torch.rand(128, 128)
        self._each = 0.0

    def make(self):
        x = self._weights
        for _ in range(4):
            x = torch.relu(x @ self._weights) * 0.01

    def calibrate(self, seconds):
        count, begin = 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            self.make()
            count += 1
        self._each = (time.monotonic() - begin) / count

    def lost_until(self, holds, begin):
        """Make steps until that holds. Return the time since `begin` that was not used for steps at the usual pace."""
        count = 0
        while count % 100 or not holds():
            self.make()
            count += 1
        return max(0.0, time.monotonic() - begin - count * self._each)


def newest():
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "checkpoints", "checkpoints.json")
    try:
        with open(path, encoding="ascii") as file:
            return json.load(file)["checkpoints"][0]["step"]
    except FileNotFoundError:
        return None


def seconds(call):
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def save(model, path, flush):
    with open(path, "wb") as file:
        torch.save(model.state_dict(), file)
        if flush:
            file.flush()
            os.fsync(file.fileno())


def save_due(checkpoints, number):
    """Wait until a checkpoint is due, and save it. Return how long that has blocked, and when it began."""
    while True:
        checkpoints.batches = number
        begin = time.monotonic()
        if checkpoints.step():
            return time.monotonic() - begin, begin
        time.sleep(0.001)


def main():
    size, rounds = int(sys.argv[1]), int(sys.argv[2])
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.rand(size // 4 // TENSORS)) for _ in range(TENSORS)])
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "saved.pt")
    with stretto.train.open() as rx:
        savers = {"background": stretto.torch.Checkpoints(rx, model=model),
                  "foreground": stretto.torch.Checkpoints(rx, model=model, background=False)}
        steps, number = Steps(), 0
        for turn in range(rounds + 1):
            figures = {}
            for name, checkpoints in savers.items():
                number += 1
                steps.calibrate(1.0)
                figures[name], begin = save_due(checkpoints, number)
                figures[name + "_cost"] = steps.lost_until(lambda step=checkpoints.batches: newest() == step, begin)
            for name, flush in ("flushed", True), ("cached", False):
                figures[name] = seconds(lambda flush=flush: save(model, path, flush))
                os.unlink(path)
            if turn > 0:  # the first one makes room for the copy
                print(json.dumps(figures), flush=True)
        rx.done()


main()
