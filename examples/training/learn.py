"""Learns how warm diffusion.py's rectangle is, from its diffusivity and the time: on a CPU or a GPU, with any ranks."""

import contextlib

import torch

import stretto.distributed
import stretto.torch
import stretto.train

STEPS = 40  # of a member


def make_model():
    return torch.nn.Sequential(torch.nn.Linear(2, 64), torch.nn.ReLU(), torch.nn.Linear(64, 24 * 32))


def loss_of(model, batch, device):
    time = batch["step"].to(device, non_blocking=True).unsqueeze(1) / STEPS
    inputs = torch.cat([batch["params"], time], dim=1).float()
    return torch.nn.functional.mse_loss(model(inputs), batch["temperature"].flatten(1))


def learn(rx, device):
    torch.manual_seed(1)
    model = make_model().to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser)
    shared = torch.nn.parallel.DistributedDataParallel(model) if rx.ranks > 1 else model
    dataset = stretto.torch.StreamDataset(rx, device=device)
    with shared.join() if rx.ranks > 1 else contextlib.nullcontext():
        for batch in torch.utils.data.DataLoader(dataset, batch_size=None):
            loss = loss_of(shared, batch, device)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            checkpoints.step()
            if rx.rank == 0 and checkpoints.batches % 10 == 0:
                rx.metric("loss", checkpoints.batches, loss.item())
    if rx.rank == 0:
        torch.save(model.state_dict(), "model.pt")


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with stretto.train.open() as rx:
        with stretto.distributed.process_group(rx, device):
            learn(rx, device)
        rx.done()


main()
