"""gpu_bench.py feed device|pinned|pageable SAMPLES, as the rank of stream_bench; or gpu_bench.py save BYTES ROUNDS

feed: prints the steps a second of a training on the GPU with batches from the stream, between half and nine tenths of
reception, and with one batch that lies there already; and for what part of the time the loop waited for a batch.
save: prints how long a copy of a model on the GPU blocks the training, and torch.save() of the same.
"""

import json
import os
import sys
import time

import torch
import torch.utils.data

import stretto.torch
import stretto.train
from stretto import _snapshot
from stretto.examples.heat_model import make_model

GPU = torch.device("cuda")


class Training:
    """The network of the heat example, which gives the whole field from five temperatures and the time."""

    def __init__(self, points):
        side = int(points ** 0.5)
        self.model = make_model(5, 256, (side, side)).to(GPU)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        self.inputs = torch.rand(10, 6, device=GPU)
        self.side = side

    def learn(self, field):
        wanted = field.to(GPU, non_blocking=True).view(-1, self.side, self.side)
        loss = torch.nn.functional.mse_loss(self.model(self.inputs), wanted)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()

    def resident(self, steps):
        field = torch.rand(10, self.side, self.side, device=GPU)
        for count in (20, steps):
            torch.cuda.synchronize()
            begin = time.monotonic()
            for _ in range(count):
                self.learn(field)
            torch.cuda.synchronize()
        return steps / (time.monotonic() - begin)


def feed(memory, samples):
    with stretto.train.open() as rx:
        name, field = next(iter(rx.fields.items()))
        training = Training(field.shape[0])
        result = {"resident": training.resident(200)}
        begin = None
        dataset = stretto.torch.StreamDataset(rx, pin_memory=memory == "pinned", device=GPU if memory == "device" else None)
        batches = iter(torch.utils.data.DataLoader(dataset, batch_size=None))
        while True:
            asked = time.monotonic()
            batch = next(batches)
            waited = time.monotonic() - asked
            training.learn(batch[name])
            del batch
            received = rx.stats()["received"]
            if begin is None and received >= samples // 2:
                torch.cuda.synchronize()
                begin, steps, waits, first = time.monotonic(), 0, 0.0, rx.stats()
            elif begin is not None:
                steps, waits = steps + 1, waits + waited
                if received >= samples * 9 // 10 and "fed" not in result:
                    torch.cuda.synchronize()
                    seconds = time.monotonic() - begin
                    result.update(memory=memory, fed=steps / seconds, drawing=waits / seconds, received=(received - first["received"]) / seconds)
                    print(json.dumps(result), flush=True)
            if received >= samples:
                break


def seconds(call):
    torch.cuda.synchronize()
    begin = time.monotonic()
    result = call()
    return time.monotonic() - begin, result


def save(size, rounds):
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.rand(size // 64, device=GPU)) for _ in range(16)])
    pinned, memory = seconds(lambda: torch.empty(size, dtype=torch.uint8, pin_memory=True))
    del memory
    snapshots = _snapshot.Snapshots()
    snapshots.prepare(model.state_dict())
    room, _ = seconds(snapshots._preparing.join)
    print(json.dumps({"room": room, "pinned": pinned}), flush=True)
    for _ in range(rounds):
        blocked, write = seconds(lambda: snapshots.take(model.state_dict()))
        written, _ = seconds(lambda write=write: write("ours.pt"))
        saved, _ = seconds(lambda: torch.save(model.state_dict(), "theirs.pt"))
        os.unlink("ours.pt")
        os.unlink("theirs.pt")
        print(json.dumps({"blocked": blocked, "written": written, "save": saved}), flush=True)


if sys.argv[1] == "feed":
    feed(sys.argv[2], int(sys.argv[3]))
else:
    save(int(sys.argv[2]), int(sys.argv[3]))
