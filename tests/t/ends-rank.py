"""A rank of PyTorch's DistributedDataParallel of which one rank ends before the others: ends-rank.py HOW FIRST MARK

FIRST is the rank that ends first; how:
out      it has no more batches, and is in join(); the others have, and wait until the last checkpoint is due
done     it calls rx.done() after three batches, and leaves the group
leaves   it leaves the group after three batches
breaks   it leaves its loop after three batches, and is in join()
exit     its process ends with status 0 after three batches
thread   a thread of it goes on after rx.done()
It makes the file MARK when it has left its loop. Each rank writes learnt.json, the samples that the model has learnt
from, those of former generations at rank 0; and state.json, the digest of model and optimiser before and after.
"""

import hashlib
import json
import os
import sys
import threading
import time

import stretto.distributed
import stretto.torch
import stretto.train
import torch

HOW, FIRST, MARK = sys.argv[1], int(sys.argv[2]), sys.argv[3]
AHEAD = 25   # batches that the first rank draws alone, of about 40
BEYOND = 20  # the batch in which the others wait: the first rank has fewer together with them
EARLY = 3
KEPT = []    # what has a reference to the process group


def digest(model, optimiser):
    sha = hashlib.sha256()
    for state in (model.state_dict(), *optimiser.state_dict()["state"].values()):
        for key in sorted(state):
            sha.update(state[key].numpy().tobytes())
    return sha.hexdigest()


class Learnt:
    """The samples that this rank has learnt from."""

    def __init__(self):
        self.samples = []

    def state_dict(self):
        return {"samples": self.samples}

    def load_state_dict(self, state):
        self.samples = state["samples"]

    def load_state_dicts(self, states):
        self.samples = sum((state["samples"] for state in states), [])

    def add(self, batch):
        self.samples += zip(batch["member"].tolist(), batch["step"].tolist())


def save(path, what):
    with open(path, "w", encoding="ascii") as file:
        json.dump(what, file)


def wait_for_last(rx):
    while not os.path.exists(MARK) or rx._calls.checkpoint_due(rx._handle) != stretto.train.LAST:
        time.sleep(0.05)


def learn(rx, shared, optimiser, learnt, checkpoints):
    first, number = rx.rank == FIRST and rx.ranks > 1, 0
    loader = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
    for batch in loader:
        if HOW == "out" and rx.generation == 1 and rx.rank != FIRST and number == BEYOND:
            wait_for_last(rx)
        loss = (shared(batch["temperature"].flatten(1) / 500).squeeze(1) - batch["step"] / 40).pow(2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        learnt.add(batch)
        time.sleep(0.05)
        checkpoints.step()
        number += 1
        if first and number == EARLY and HOW == "done":
            rx.done()
        if first and number == EARLY and HOW == "exit":
            os._exit(0)
        if first and number == EARLY and HOW in ("done", "leaves", "breaks"):
            break


def train(rx):
    torch.manual_seed(rx.rank)
    model = torch.nn.Linear(12, 1)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    learnt = Learnt()
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser, own={"learnt": learnt})
    begin = digest(model, optimiser)
    shared = torch.nn.parallel.DistributedDataParallel(model) if rx.ranks > 1 else model
    KEPT.append(shared)
    if HOW == "out" and rx.generation == 1 and rx.rank == FIRST:
        for _, batch in zip(range(AHEAD), stretto.torch.StreamDataset(rx)):
            learnt.add(batch)
    if rx.ranks > 1 and HOW in ("out", "breaks"):
        with shared.join():
            learn(rx, shared, optimiser, learnt, checkpoints)
            end = digest(model, optimiser)
            if rx.rank == FIRST:
                save(MARK, None)
    else:
        learn(rx, shared, optimiser, learnt, checkpoints)
        end = digest(model, optimiser)
    save("state.json", {"rank": rx.rank, "begin": begin, "end": end})
    save("learnt.json", learnt.samples)


with stretto.train.open() as receiver:
    with stretto.distributed.process_group(receiver):
        train(receiver)
    receiver.done()
    if HOW == "thread" and receiver.rank == FIRST:
        threading.Thread(target=time.sleep, args=(10000,)).start()
