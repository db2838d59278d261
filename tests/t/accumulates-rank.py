"""A rank that accumulates the gradients of four batches: accumulates-rank.py waits|killed|flushes

waits    its last checkpoint is saved while it waits for samples, with batches accumulated
killed   it is killed with batches accumulated, once a checkpoint is listed
flushes  its optimiser does not step after the loop
Each rank writes learnt.json: the samples of which a step of the optimiser had the gradients, those of former
generations at rank 0.
"""

import json
import os
import signal
import sys
import time

import stretto.torch
import stretto.train
import torch

HOW = sys.argv[1]
FIRST = HOW == "killed" and os.environ.get("STRETTO_RESTART", "0") == "0"


class Learnt:
    def __init__(self):
        self.samples, self.accumulated = [], []

    def state_dict(self):
        return {"samples": list(self.samples)}

    def load_state_dict(self, state):
        self.samples = state["samples"]

    def load_state_dicts(self, states):
        self.samples = sum((state["samples"] for state in states), [])

    def step(self, optimiser):
        optimiser.step()
        optimiser.zero_grad()
        self.samples += self.accumulated
        self.accumulated = []


def wait_until(holds):
    while not holds():
        time.sleep(0.05)


def listed():
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "checkpoints", "checkpoints.json")
    return os.path.exists(path)


with stretto.train.open() as rx:
    model = torch.nn.Linear(12, 1)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    learnt = Learnt()
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser, own={"learnt": learnt})
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, 100)  # made after it: it changes optimiser.step, too
    for batch in torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None):
        (model(batch["temperature"].flatten(1)).pow(2).mean() / 4).backward()
        learnt.accumulated += zip(batch["member"].tolist(), batch["step"].tolist())
        if checkpoints.batches % 4 == 3:
            learnt.step(optimiser)
            schedule.step()
        if FIRST and checkpoints.batches == 7:
            wait_until(lambda: rx._calls.checkpoint_due(rx._handle))
        saved = checkpoints.step()
        assert not saved or not learnt.accumulated
        if FIRST and checkpoints.batches == 10:
            wait_until(listed)
            os.kill(os.getpid(), signal.SIGKILL)
    if not rx.unfinished and HOW != "flushes":
        learnt.step(optimiser)
    with open("learnt.json", "w", encoding="ascii") as file:
        json.dump(learnt.samples, file)
    rx.done()
