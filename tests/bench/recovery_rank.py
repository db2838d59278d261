"""recovery_rank.py: a rank of a small model in PyTorch, of which the benchmark kills one again and again.

    recovery_rank.py train TRACE        trains, and writes a line of JSON for each batch into the file TRACE-rankR; waits while there
                                        is a file TRACE-pause
    recovery_rank.py load CHECKPOINT    does what a rank does before it receives: starts, makes the model, and loads a state

A line has the rank, its process, the number of the batch, and the monotonic time in seconds.
"""

import json
import os
import sys
import time

import torch

import stretto.distributed
import stretto.torch
import stretto.train


class Learnt:
    """The samples that this rank's model has learnt from; it is saved with the model."""

    def __init__(self):
        self.samples = []

    def state_dict(self):
        return {"samples": self.samples}

    def load_state_dict(self, state):
        self.samples = state["samples"]


def make_model():
    model = torch.nn.Sequential(torch.nn.Linear(12, 256), torch.nn.ReLU(), torch.nn.Linear(256, 2))
    return model, torch.optim.Adam(model.parameters(), lr=1e-3)


def train(trace):
    with stretto.train.open() as rx, stretto.distributed.process_group(rx), \
            open("%s-rank%d" % (trace, rx.rank), "a", encoding="ascii", buffering=1) as lines:
        model, optimizer = make_model()
        learnt = Learnt()
        checkpoints = stretto.torch.Checkpoints(rx, own={"learnt": learnt}, model=model, optimizer=optimizer)
        parallel = torch.nn.parallel.DistributedDataParallel(model)
        with parallel.join():
            for batch in rx.batches():
                x = torch.from_numpy(batch.fields["temperature"]).reshape(-1, 12).float()
                y = torch.from_numpy(batch.fields["flux"]).float()
                optimizer.zero_grad()
                torch.nn.functional.mse_loss(parallel(x), y).backward()
                optimizer.step()
                learnt.samples += zip(batch.member.tolist(), batch.step.tolist())
                lines.write(json.dumps({"rank": rx.rank, "pid": os.getpid(),
                                        "batch": checkpoints.batches, "time": time.monotonic()}) + "\n")
                checkpoints.step()
                time.sleep(0.01)
                while os.path.exists(trace + "-pause"):
                    time.sleep(0.01)
        with open("learnt.json", "w", encoding="ascii") as file:
            json.dump(learnt.samples, file)
        rx.done()


def load(checkpoint):
    model, optimizer = make_model()
    state = torch.load(checkpoint)["shared"]
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])


if __name__ == "__main__":
    {"train": train, "load": load}[sys.argv[1]](sys.argv[2])
