"""A rank of DistributedDataParallel in join(): cells-rank.py EVENT

EVENT: kill, the last rank is killed in its batch 12; accumulate, the same, and each step of the optimiser has four batches;
done, the last rank calls rx.done() after ten batches; resize and walltime come from outside. Each rank writes
learnt.json, the samples from which the model has learnt; a former rank's are of one of the present ones.
"""

import contextlib
import json
import os
import signal
import sys

import stretto.distributed
import stretto.torch
import stretto.train
import torch

EVENT = sys.argv[1]
FIRST = os.environ.get("STRETTO_RESTART", "0") == "0"
EACH = 4 if EVENT == "accumulate" else 1  # batches for a step of the optimiser


class Learnt:
    def __init__(self, optimiser):
        self.optimiser, self.samples, self.accumulated = optimiser, [], []

    def state_dict(self):
        return {"samples": list(self.samples)}

    def load_state_dict(self, state):
        self.samples = list(state["samples"])

    def load_state_dicts(self, states):
        self.samples = sum((state["samples"] for state in states), [])

    def step(self):
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.samples += self.accumulated
        self.accumulated = []


def train(rx):
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    learnt = Learnt(optimiser)
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser, own={"learnt": learnt})
    shared = torch.nn.parallel.DistributedDataParallel(model) if rx.ranks > 1 else model
    last, number = rx.rank == rx.ranks - 1, 0
    with shared.join() if rx.ranks > 1 else contextlib.nullcontext():
        for batch in torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None):
            number += 1
            shared(batch["a"]).pow(2).mean().backward()
            learnt.accumulated += zip(batch["member"].tolist(), batch["step"].tolist())
            if number % EACH == 0:
                learnt.step()
            checkpoints.step()
            if EVENT in ("kill", "accumulate") and last and FIRST and number == 12 - (EACH > 1):
                os.kill(os.getpid(), signal.SIGKILL)
            if EVENT == "done" and last and number == 10:
                rx.done()
                break
    if not rx.unfinished:
        learnt.step()
    with open("learnt.json", "w", encoding="ascii") as file:
        json.dump(learnt.samples, file)


with stretto.train.open() as receiver:
    with stretto.distributed.process_group(receiver):
        train(receiver)
    receiver.done()
