"""A rank of PyTorch's DistributedDataParallel whose group gets larger and smaller: ddp-rank.py [RAISES]

In the first process of its ranks, rank 1 raises in its batch of the number RAISES, while rank 0 waits for it in a
collective call, so that both end.
Each generation writes parameters.json into its rank's directory: how many ranks it has, and had; and the digest of model
and optimiser at its beginning and at its end. After each batch the ranks compare their parameters, and a rank whose
differ raises. learnt.json has the samples that the rank has learnt from, those of former generations at rank 0.
DEVICE in the environment is where the model lies: cpu or cuda.
"""

import glob
import hashlib
import json
import os
import sys

import stretto.distributed
import stretto.torch
import stretto.train
import torch

DEVICE = os.environ.get("DEVICE", "cpu")


def digest(*parts):
    sha = hashlib.sha256()
    for part in parts:
        flat = torch.nn.utils.parameters_to_vector(part.parameters()) if hasattr(part, "parameters") else \
            torch.cat([state[key].flatten().cpu() for state in part.state_dict()["state"].values() for key in sorted(state)])
        sha.update(flat.detach().cpu().numpy().tobytes())
    return sha.hexdigest()


class Learnt:
    """The samples that this rank has learnt from."""

    def __init__(self):
        self.samples = []

    def state_dict(self):
        return {"samples": self.samples}

    def load_state_dict(self, state):
        self.samples = state["samples"]


def take_over(rx, learnt):
    """Rank 0 goes on with what all former ranks had learnt."""
    learnt.samples = []
    for path in glob.glob(os.path.join(os.path.dirname(rx.resume), "state-rank*")) if rx.rank == 0 else []:
        learnt.samples += torch.load(path, weights_only=False)["own"]["learnt"]["samples"]


def compare(rx, model):
    if rx.ranks == 1:
        return
    others = [None] * rx.ranks
    torch.distributed.all_gather_object(others, digest(model))
    assert len(set(others)) == 1, others


def learn(rx, model, shared, optimiser, batch):
    inputs, wanted = batch["temperature"].to(DEVICE).flatten(1) / 500, batch["params"][:, 0].float().to(DEVICE)
    loss = (shared(inputs).squeeze(1) - wanted).pow(2).mean()
    optimiser.zero_grad()
    if rx.rank == 1 and sys.argv[1:] == [str(rx.stats()["batches"])] and os.environ.get("STRETTO_RESTART", "0") == "0":
        raise RuntimeError("the loss is not finite")
    loss.backward()
    optimiser.step()
    compare(rx, model)
    rx.metric("loss", rx.stats()["batches"], loss.item())


def save(path, what):
    with open(path, "w", encoding="ascii") as file:
        json.dump(what, file)


def train(rx):
    torch.manual_seed(rx.rank)  # not the same on each
    model = torch.nn.Linear(12, 1).to(DEVICE)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    learnt = Learnt()
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser, own={"learnt": learnt})
    if rx.resume is not None:
        take_over(rx, learnt)
    begin = digest(model, optimiser) if rx.resume is not None else None
    shared = torch.nn.parallel.DistributedDataParallel(model) if rx.ranks > 1 else model
    for batch in stretto.torch.StreamDataset(rx):
        learn(rx, model, shared, optimiser, batch)
        learnt.samples += zip(batch["member"].tolist(), batch["step"].tolist())
        del batch
        checkpoints.step()
    save("parameters.json", {"ranks": rx.ranks, "before": rx.resume_ranks, "begin": begin, "end": digest(model, optimiser)})
    save("learnt.json", learnt.samples)


with stretto.train.open() as receiver:
    with stretto.distributed.process_group(receiver, DEVICE):
        train(receiver)
    receiver.done()
