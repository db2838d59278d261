"""gpu.py CASE: what stretto.torch does if there is a GPU."""

import sys

import torch

import stretto.torch
from stretto import _snapshot, train

GPU = torch.device("cuda")
ROWS, COLUMNS, ROUNDS = 10, 1 << 20, 12  # batches of 40 MB


class Stream:
    """In place of a receiver: each batch holds its own number, everywhere."""

    batch_size, parameters = ROWS, ["x"]

    def __init__(self, batches=ROUNDS):
        self.fields = {"u": train.Field("float32", (COLUMNS,))}
        self.batches, self.count = batches, 0

    shape_of = train.Receiver.shape_of
    allocate_rest = train.Receiver.allocate_rest
    allocate = train.Receiver.allocate

    def next_batch(self, batch):
        if self.count == self.batches:
            return None
        for array in (batch.fields["u"], batch.params, batch.member, batch.step):
            array.fill(self.count)
        self.count += 1
        return batch


def batches_arrive_whole():
    """Copies to the GPU wait there for something else, while the next batches are drawn."""
    busy = torch.cuda.Stream()
    sums = []
    for batch in torch.utils.data.DataLoader(stretto.torch.StreamDataset(Stream(), pin_memory=True), batch_size=None):
        assert batch["u"].is_pinned() and batch["params"].is_pinned() and batch["member"].is_pinned()
        with torch.cuda.stream(busy):
            torch.cuda._sleep(100_000_000)
            sums.append((batch["u"].to(GPU, non_blocking=True).double().sum(), batch["params"].to(GPU, non_blocking=True).sum(),
                         batch["u"][3:7].to(GPU, non_blocking=True).double().sum(), batch["step"].to(GPU, non_blocking=True).sum()))
        del batch
    torch.cuda.synchronize()
    for number, (u, params, part, step) in enumerate(sums):
        got, wanted = (u.item(), params.item(), part.item(), step.item()), \
            (float(number * ROWS * COLUMNS), float(number * ROWS), float(number * 4 * COLUMNS), number * ROWS)
        assert got == wanted, (number, got, wanted)
    assert len(sums) == ROUNDS


def batches_come_to_the_gpu():
    """They do while it is busy with those before, and only so many of them."""
    sums, free = [], []
    for batch in torch.utils.data.DataLoader(stretto.torch.StreamDataset(Stream(3 * ROUNDS), device=GPU), batch_size=None):
        assert batch["u"].device.type == batch["params"].device.type == "cuda"
        assert batch["member"].device.type == batch["step"].device.type == "cpu"
        torch.cuda._sleep(50_000_000)
        sums.append((batch["u"].double().sum(), batch["params"].sum(), batch["step"].sum()))
        free.append(torch.cuda.memory_allocated())
    torch.cuda.synchronize()
    assert [tuple(x.item() for x in each) for each in sums] == \
        [(float(n * ROWS * COLUMNS), float(n * ROWS), n * ROWS) for n in range(3 * ROUNDS)]
    bytes_each = 4 * ROWS * COLUMNS
    assert max(free) < 12 * bytes_each, [size / bytes_each for size in free]  # a sum in float64 takes twice a batch


def trained(dropout=0.0):
    model = torch.nn.Sequential(torch.nn.Linear(1000, 3000), torch.nn.Dropout(dropout), torch.nn.Linear(3000, 2)).to(GPU)
    return model, torch.optim.Adam(model.parameters())


def step(model, optimiser, number):
    generator = torch.Generator().manual_seed(number)
    loss = model(torch.rand(64, 1000, generator=generator).to(GPU)).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss


def copies_are_of_the_moment():
    model, optimiser = trained()
    step(model, optimiser, 0)
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "random": torch.get_rng_state(),
             "host": torch.arange(5_000_001, dtype=torch.float32), "half": model[0].weight.detach().half()}
    torch.save(state, "theirs.pt")
    snapshots = _snapshot.Snapshots()
    snapshots.prepare(state)
    torch.cuda._sleep(100_000_000)
    write = snapshots.take(state)
    assert snapshots._memory.is_pinned()
    for number in range(3):
        step(model, optimiser, number)
    write("ours.pt")
    for where in "cpu", "cuda":
        ours, theirs = (torch.load(name, map_location=where, weights_only=False) for name in ("ours.pt", "theirs.pt"))
        assert all(torch.equal(ours["model"][name], theirs["model"][name]) for name in theirs["model"])
        for number, of in theirs["optimiser"]["state"].items():
            assert all(torch.equal(ours["optimiser"]["state"][number][name], of[name]) for name in of)
        assert all(torch.equal(ours[name], theirs[name]) for name in ("random", "host", "half"))
    assert torch.load("ours.pt", weights_only=False)["half"].device.type == "cuda"


def memory_is_given_back():
    """A copy takes what the state needs, and no page stays locked when it has grown."""
    free = torch.cuda.cudart().cudaHostUnregister
    for megabytes in 65, 130:
        memory = _snapshot._allocate(megabytes << 20, GPU)
        assert memory.is_pinned() and memory.untyped_storage().nbytes() == megabytes << 20
        pointer = memory.data_ptr()
        del memory
        assert int(free(pointer)) != 0, "it was locked still"


def does_without_locked_memory():
    """A refused call leaves no error behind for PyTorch's next one."""
    taken = _snapshot._allocate(8 << 20, GPU)
    _snapshot._pin(taken, GPU)  # a second time, which CUDA refuses
    assert torch.ones(1000, device=GPU).sum().item() == 1000
    runtime = torch.cuda.cudart()
    torch.cuda.cudart = lambda: type("NoMemory", (), {"cudaHostRegister": lambda *_: runtime.cudaHostRegister(0, 1, 0)})
    model = trained()[0]
    snapshots = _snapshot.Snapshots()
    snapshots.take(model.state_dict())("state.pt")
    assert not snapshots._memory.is_pinned()
    assert torch.equal(torch.load("state.pt")["0.weight"], model[0].weight)


class Receiver:
    """In place of a receiver, for Checkpoints."""

    def __init__(self, resume=None):
        self.ranks, self.rank, self.leader, self.resume_ranks, self.checkpoint_every = 1, 0, 0, 1, 1.0
        self.resume, self.resume_step = resume, None if resume is None else 5
        self.due, self.write = train.NOT_DUE, None

    def on_wait(self, call):
        pass

    def learnt(self):
        pass

    def checkpoint_due(self):
        return self.due

    def checkpoint(self, save, step, due=None):
        self.write = save("state.pt")


def goes_on_exactly():
    """Dropout draws from the GPU's random numbers: a training that goes on from a checkpoint draws what it would have drawn."""
    torch.manual_seed(1)
    model, optimiser = trained(0.5)
    rx = Receiver()
    checkpoints = stretto.torch.Checkpoints(rx, model=model, optimiser=optimiser)
    for number in range(5):
        rx.due = train.DUE if number == 4 else train.NOT_DUE
        step(model, optimiser, number)
        checkpoints.step()
    rx.write()
    wanted = [step(model, optimiser, number).item() for number in range(5, 9)]
    torch.manual_seed(2)
    model, optimiser = trained(0.5)
    again = stretto.torch.Checkpoints(Receiver("state.pt"), model=model, optimiser=optimiser)
    assert again.batches == 5 and next(model.parameters()).device.type == "cuda"
    got = [step(model, optimiser, number).item() for number in range(5, 9)]
    assert got == wanted, (got, wanted)


globals()[sys.argv[1]]()
