#!/usr/bin/env python3
"""ranks-train.py MODE: a linear model trained on every rank; weights.json and drawn.json in each rank's directory.

MODE is "whole", or "missing", where rank 1 never joins.
"""

import datetime
import json
import sys
import time

import stretto.train

MODE = sys.argv[1]


def main():
    global stretto, torch
    with stretto.train.open() as rx:
        if MODE == "missing" and rx.rank == 1:
            time.sleep(600)
        # these take seconds, and who is no rank, or does not join, gets no further than this
        import stretto.distributed
        import stretto.torch
        import torch

        patience = datetime.timedelta(seconds=3 if MODE == "missing" else 300)
        with stretto.distributed.process_group(rx, meet_within=patience):
            train(rx)
        rx.done()


def train(rx):
    torch.manual_seed(rx.rank)  # not the same on each: they begin with rank 0's all the same
    model = torch.nn.Linear(len(rx.parameters), 1)
    shared = torch.nn.parallel.DistributedDataParallel(model)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    drawn, batches = set(), 0
    with shared.join(divide_by_initial_world_size=False):
        for batch in torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None):
            drawn |= set(zip(batch["member"].tolist(), batch["step"].tolist()))
            batches += 1
            inputs, wanted = batch["params"].float() / 500, batch["temperature"].mean(dim=(1, 2)) / 500
            optimiser.zero_grad()
            (shared(inputs).squeeze(1) - wanted).pow(2).mean().backward()
            optimiser.step()
            if batches == 5:  # while both still have batches: the same steps on the same averages
                save("weights.json", [p.flatten().tolist() for p in model.parameters()])
    save("drawn.json", sorted(drawn))


def save(path, what):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(what, file)


main()
