"""snapshot.py: copies of a program's state, which stretto.torch.Checkpoints takes and a thread writes. Prints how each
case went. Each has a process of its own, a fork of one that has loaded PyTorch, which takes longer than all cases."""

import collections
import errno
import os
import struct
import sys
import threading
import traceback
import zipfile

import torch

import stretto.torch
from stretto import _snapshot, train

LARGE = 3 * _snapshot._PIECE // 4 + 1001  # elements of float32: several pieces, and no multiple of anything


class Plain:
    def __init__(self):
        self.words = ["a", "b"]


def state_of_all_sorts():
    model = torch.nn.Sequential(torch.nn.Linear(300, 200), torch.nn.BatchNorm1d(200), torch.nn.Linear(200, 10))
    optimiser = torch.optim.Adam(model.parameters())
    model(torch.rand(5, 300)).sum().backward()
    optimiser.step()
    some = torch.rand(10, 10)
    return {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "large": torch.rand(LARGE),
            "views": [some, some[2:4, ::2], some.t()], "empty": torch.empty(0), "empty rows": torch.empty(0, 3),
            "types": [some.to(dtype) for dtype in (
                torch.float64, torch.half, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
                torch.uint8, torch.complex64, torch.complex128)],
            "bool": some > 0.5, "conj": torch.complex(some, some).conj(), "sparse": torch.eye(4).to_sparse(),
            "quantized": torch.quantize_per_tensor(some, 0.1, 10, torch.quint8),
            "parameter": torch.nn.Parameter(some * 2), "random": torch.get_rng_state(),
            "rest": collections.OrderedDict(x=(1, 2.5, None, {3}), y=b"bytes")}


def load(path):
    return torch.load(path, map_location="cpu", weights_only=False)


def records(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {info.filename.split("/", 1)[1]: archive.read(info) for info in archive.infolist()}


def writes_what_torch_save_does():
    state = state_of_all_sorts()
    torch.save(state, "theirs.pt")
    _snapshot.Snapshots().take(state)("ours.pt")
    theirs, ours = records("theirs.pt"), records("ours.pt")
    for name, data in theirs.items():
        assert name.startswith(".") or ours[name] == data or name == "version", name
    assert set(ours) - set(theirs) <= {"byteorder"}
    loaded = load("ours.pt")
    assert torch.equal(loaded["large"], state["large"]) and loaded["rest"] == state["rest"]
    assert loaded["views"][0].data_ptr() == loaded["views"][2].data_ptr()
    with zipfile.ZipFile("ours.pt") as archive, open("ours.pt", "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            assert (info.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))) % 64 == 0, info


def is_of_the_moment():
    plain, tensor = Plain(), torch.arange(LARGE, dtype=torch.float32)
    write = _snapshot.Snapshots().take({"plain": plain, "tensor": tensor})
    plain.words.append("c")
    tensor.add_(1)
    write("state.pt")
    loaded = load("state.pt")
    assert loaded["plain"].words == ["a", "b"]
    assert torch.equal(loaded["tensor"], torch.arange(LARGE, dtype=torch.float32))


def uses_its_memory_again():
    snapshots, state = _snapshot.Snapshots(), {"a": torch.zeros(1000), "b": torch.zeros(LARGE)}
    snapshots.prepare(state)
    snapshots._preparing.join()
    memory = snapshots._memory.data_ptr()
    for number in range(3):
        state["b"].fill_(number)
        snapshots.take(state)("state.pt")
        assert snapshots._memory.data_ptr() == memory
        assert torch.equal(load("state.pt")["b"], state["b"])
    state["c"] = torch.ones(LARGE)
    snapshots.take(state)("state.pt")
    assert torch.equal(load("state.pt")["c"], state["c"])
    _snapshot.Snapshots().take({"none": 1})("state.pt")
    assert load("state.pt") == {"none": 1}


def tells_of_a_full_disk():
    try:
        _snapshot.Snapshots().take({"a": torch.zeros(LARGE)})("/dev/full")
        raise AssertionError("it was written")
    except OSError as error:
        assert error.errno == errno.ENOSPC, error


class Stub:
    """In place of a receiver: notes what it is given to save with."""

    def __init__(self, every=1.0):
        self.ranks, self.rank, self.leader, self.resume_ranks, self.checkpoint_every = 1, 0, 0, 1, every
        self.resume = self.resume_step = None
        self.due, self.write = train.NOT_DUE, None

    def on_wait(self, call):
        pass

    def learnt(self):
        pass

    def checkpoint_due(self):
        return self.due

    def checkpoint(self, save, step, due=None):
        self.write = save("state.pt")
        assert step > 0


def is_taken_for_checkpoints():
    model, rx = torch.nn.Linear(50, 50), Stub()
    checkpoints = stretto.torch.Checkpoints(rx, model=model)
    assert not checkpoints.step() and checkpoints._snapshots._preparing is not None  # memory is made ready
    save, torch.save = torch.save, None  # it would hold the interpreter's lock
    rx.due = train.DUE
    assert checkpoints.step() and not os.path.exists("state.pt")
    weights = model.weight.detach().clone()
    with torch.no_grad():
        model.weight.add_(1)
    rx.write()
    torch.save = save
    rx.resume, rx.resume_step = "state.pt", 2
    stretto.torch.Checkpoints(rx, model=model)
    assert torch.equal(model.weight, weights)
    os.unlink("state.pt")
    rx.due = train.LAST
    assert checkpoints.step() and rx.write is None and os.path.exists("state.pt")  # nothing is left to be done


def can_be_turned_off():
    rx = Stub()
    rx.due = train.DUE
    checkpoints = stretto.torch.Checkpoints(rx, background=False, model=torch.nn.Linear(5, 5))
    assert checkpoints.step() and rx.write is None and "shared" in load("state.pt")
    rx = Stub(every=None)
    checkpoints = stretto.torch.Checkpoints(rx, model=torch.nn.Linear(5, 5))
    checkpoints.step()
    assert checkpoints._snapshots._memory is None and checkpoints._snapshots._preparing is None


def does_without_memory():
    def no_memory(*_):
        raise MemoryError

    rx = Stub()
    _snapshot._allocate = no_memory
    checkpoints = stretto.torch.Checkpoints(rx, model=torch.nn.Linear(5, 5))
    for rx.due in (train.NOT_DUE, train.DUE, train.DUE):
        checkpoints.step()
    assert rx.write is None and "shared" in load("state.pt")


class Storage:
    def __init__(self, device, size=1000):
        self.device, self.nbytes = torch.device(device), lambda: size


def locks_memory_for_the_gpu_of_the_state():
    """A thread that begins uses the first GPU, of which the rank may have no use, and must take no memory."""
    here, calls = threading.local(), []

    class Guard:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            here.device, self.device = self.device, getattr(here, "device", None)

        def __exit__(self, *_):
            here.device = self.device

    class Runtime:
        answer = 0

        @staticmethod
        def note(call):
            calls.append((call, getattr(here, "device", None)))
            return Runtime.answer

        cudaHostRegister = staticmethod(lambda *_: Runtime.note("lock"))
        cudaHostUnregister = staticmethod(lambda *_: Runtime.note("unlock"))

    torch.cuda.cudart, torch.cuda.device = lambda: Runtime, Guard
    third = torch.device("cuda", 3)
    torch.zeros = lambda *_, device: calls.append(("call", torch.device(device)))
    _snapshot._dump = lambda state: (b"", [Storage("cpu"), Storage(third)])
    snapshots = _snapshot.Snapshots()
    snapshots.prepare({})
    snapshots._preparing.join()
    assert calls == [("lock", third)], calls
    snapshots._memory = None
    assert calls[1:] == [("unlock", third)], calls
    Runtime.answer = 2  # it cannot be locked
    snapshots.prepare({})
    snapshots._preparing.join()
    assert calls[2:] == [("lock", third), ("call", third)], calls
    _snapshot._dump = lambda state: (b"", [Storage("cpu", 10000)])
    snapshots.prepare({})
    snapshots._preparing.join()
    assert len(calls) == 4, calls  # what is on no GPU need not be locked


def run(case):
    """Return whether it passes. Its errors go to a file of its name; if it fails, also to the standard error."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.dup2(os.open(f"{case.__name__}.log", os.O_WRONLY | os.O_CREAT), 2)
            case()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)  # neither ends what the parent has begun
    passed = os.waitpid(child, 0)[1] == 0
    if not passed:
        print(open(f"{case.__name__}.log").read(), file=sys.stderr)
    if os.path.exists("state.pt"):
        os.unlink("state.pt")
    return passed


for case in (writes_what_torch_save_does, is_of_the_moment, uses_its_memory_again, tells_of_a_full_disk,
             locks_memory_for_the_gpu_of_the_state, is_taken_for_checkpoints, can_be_turned_off, does_without_memory):
    print(case.__name__, "passed" if run(case) else "failed", flush=True)
