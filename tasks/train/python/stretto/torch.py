"""Batches of an ensemble's samples as tensors.

    rx = stretto.train.open()
    loader = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
    for batch in loader:
        ...batch["temperature"], batch["params"], batch["member"], batch["step"]
"""

import collections
import functools
import hashlib
import logging
import os
import random
import sys
import types
import weakref

import numpy
import torch
import torch.utils.data

from stretto import _snapshot, train

# The number of batches whose memory is kept: the loop's present batch, its next one, and one that it holds on to.
_KEPT = 3


def _tensor(field):
    if isinstance(field, train.Ragged):
        return train.Ragged(torch.from_numpy(field.data), torch.from_numpy(field.offsets))
    return torch.from_numpy(field)


class _Batches:
    """Batches whose fields are in memory that is used again, since new pages for each would cost more than the copy.

    A field is handed out as a new array over kept memory. Tensors that are made of it, their slices and views, hold
    that array. When the array is gone, nobody sees the memory any more.
    """

    def __init__(self, rx):
        self._rx = rx
        self._kept = []  # (memory by field, weak references to the arrays that were handed out over it)

    def get(self):
        for memory, seen in self._kept:
            if all(reference() is None for reference in seen):
                return self._hand_out(memory, seen)
        if len(self._kept) == _KEPT:
            return self._rx.allocate()
        memory = {name: memoryview(numpy.empty(self._rx.shape_of(field), field.dtype)).cast("B")
                  for name, field in self._rx.fields.items()}
        self._kept.append((memory, []))
        return self._hand_out(*self._kept[-1])

    def _hand_out(self, memory, seen):
        fields = {}
        seen.clear()
        for name, field in self._rx.fields.items():
            array = numpy.frombuffer(memory[name], field.dtype)
            seen.append(weakref.ref(array))
            fields[name] = array.reshape(self._rx.shape_of(field))
        return self._rx.allocate_rest(fields)


class _Ahead:
    """Copies batches to a GPU, each while the GPU still learns from the one before: in a stream of their own."""

    # batches that the program may be ahead of the GPU; with more, its memory would fill up with batches to come
    BATCHES = 2

    def __init__(self, device):
        self._device = device
        self._copies = torch.cuda.Stream(device)
        self._learnt = collections.deque()  # events, each behind what the program wants done with a batch

    def bring(self, tensors):
        """Return the tensors (a dict) on the device, as the program's stream may use them."""
        user = torch.cuda.current_stream(self._device)
        with torch.cuda.stream(self._copies):
            moved = {name: self._move(tensor) for name, tensor in tensors.items()}
        user.wait_stream(self._copies)
        for tensor in moved.values():
            (tensor.data if isinstance(tensor, train.Ragged) else tensor).record_stream(user)
        return moved

    def _move(self, tensor):
        if isinstance(tensor, train.Ragged):
            return train.Ragged(tensor.data.to(self._device, non_blocking=True), tensor.offsets)
        return tensor.to(self._device, non_blocking=True)

    def learns(self):
        """The program has told the GPU all that it wants done with its newest batch. Wait if it is too far ahead."""
        event = torch.cuda.Event(blocking=True)
        event.record(torch.cuda.current_stream(self._device))
        self._learnt.append(event)
        if len(self._learnt) > self.BATCHES:
            self._learnt.popleft().synchronize()


# how a DataLoader is to be made
_RIGHT = "DataLoader(dataset, batch_size=None, num_workers=0)"


class StreamDataset(torch.utils.data.IterableDataset):
    """Whole batches, each a dict of tensors: the fields by name, "params" (float64), "member" and "step" (int64).

    A field whose first extent varies is a stretto.train.Ragged of tensors.

    The receiver is in this process and has its own thread, so a DataLoader needs batch_size=None and no workers. There
    is one pass over the stream, which ends when all is drawn; a second one is empty, and says so. Memory of tensors
    that are gone is used again.

    `device` is where the fields and "params" shall lie. For a GPU they come through page-locked memory, and are copied
    while the GPU learns from the batch before. "member" and "step", which say what the samples are, stay on the host,
    and so do the offsets of a Ragged. With pin_memory alone, all is left in page-locked memory, which the program can
    copy to the GPU without blocking.
    """

    def __init__(self, rx, pin_memory=False, device=None):
        super().__init__()
        clash = {"params", "member", "step"} & set(rx.fields)
        if clash:
            raise ValueError("fields of these names cannot be told from the batch's own: %s" % ", ".join(sorted(clash)))
        self._rx = rx
        device = torch.device(device or "cpu")
        if device.type not in ("cpu", "cuda"):
            raise ValueError("batches can be brought to a CUDA device, or left on the CPU; not to %s" % device)
        self._ahead = _Ahead(device) if device.type == "cuda" else None
        # PyTorch reuses pinned memory itself, and knows which copies from it have not ended
        self._allocate = self._allocate_pinned if pin_memory or self._ahead is not None else _Batches(rx).get

    def _allocate_pinned(self):
        def pinned(array):
            return torch.empty(array.shape, dtype=torch.from_numpy(array).dtype, pin_memory=True).numpy()

        fields = {name: pinned(numpy.empty(self._rx.shape_of(field), field.dtype))
                  for name, field in self._rx.fields.items()}
        batch = self._rx.allocate_rest(fields)
        return train.Batch(batch.fields, pinned(batch.params), pinned(batch.member), pinned(batch.step))

    def __reduce__(self):
        raise TypeError("a worker cannot receive the stream, which comes to this process: use " + _RIGHT)

    def __iter__(self):
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("the stream is received in this process: use " + _RIGHT)
        caller = sys._getframe(1).f_locals.get("self")  # pylint: disable=protected-access
        if getattr(caller, "auto_collation", False):  # a DataLoader's, which would make a batch of batches
            raise TypeError(
                "the dataset gives whole batches, whose size is training.buffer.batch of the spec: use " + _RIGHT
            )
        self._rx._warn_of_second_pass()  # pylint: disable=protected-access
        return self._batches()

    def _batches(self):
        while True:
            batch = self._rx.next_batch(self._allocate())
            if batch is None:
                return
            tensors = {name: _tensor(field) for name, field in batch.fields.items()}
            tensors["params"] = torch.from_numpy(batch.params)
            if self._ahead is not None:
                tensors = self._ahead.bring(tensors)
            tensors["member"] = torch.from_numpy(batch.member)
            tensors["step"] = torch.from_numpy(batch.step)
            yield tensors
            del tensors, batch  # so that the next batch may use their memory
            if self._ahead is not None:
                self._ahead.learns()


_WRAPPERS = (torch.nn.parallel.DistributedDataParallel, torch.nn.DataParallel)


def _watch_steps(optimiser, note):
    """Have note() called after each step of the optimiser. Schedules of the learning rate want a bound method."""
    step = optimiser.step

    @functools.wraps(step)
    def noted(_, *args, **named):
        result = step(*args, **named)
        note()
        return result

    optimiser.step = types.MethodType(noted, optimiser)


def _bare(name, part):
    """Return the model in a wrapper whose state cannot be loaded without it, or by another number of ranks."""
    if type(part).__name__ in ("FullyShardedDataParallel", "FSDPModule"):
        raise TypeError("\"%s\": each rank has a part of a model in FullyShardedDataParallel, which Checkpoints cannot "
                        "save: save it by rx.checkpoint()" % name)
    while isinstance(part, torch.nn.Module):
        if isinstance(part, _WRAPPERS):
            part = part.module
        elif hasattr(part, "_orig_mod"):  # what torch.compile() makes
            part = part._orig_mod
        else:
            break
    return part


def _random():
    """Return the states of all random generators of this process that programs use."""
    return {"torch": torch.get_rng_state(), "numpy": numpy.random.get_state(), "python": random.getstate(),
            # of the process's current GPU, if it uses one: it is what dropout on the GPU draws from
            "cuda": torch.cuda.get_rng_state() if torch.cuda.is_initialized() else None}


def _set_random(state, rank=None):
    """Set these states; with `rank`, such that follow from them, and differ for each rank."""
    if rank is None:
        torch.set_rng_state(state["torch"])
        numpy.random.set_state(state["numpy"])
        random.setstate(state["python"])
        if state["cuda"] is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(state["cuda"])
        return
    digest = hashlib.sha256(state["torch"].numpy().tobytes() + b"%d" % rank).digest()
    torch.manual_seed(int.from_bytes(digest[:8], "little", signed=True))
    numpy.random.seed(numpy.frombuffer(digest, "<u4"))
    random.seed(digest)


class Checkpoints:
    """Saves model, optimiser and whatever else has state_dict() and load_state_dict(), when a checkpoint is due.

        checkpoints = stretto.torch.Checkpoints(rx, model=model, optimizer=optimizer)
        for batch in loader:
            ...
            checkpoints.step()

    If the training goes on from a checkpoint, making the object loads all of it, and the rank's random states: those of
    PyTorch on the CPU and the current GPU, of NumPy and of Python. A rank that there was not before gets random states
    of its own. A model in DistributedDataParallel is saved without it, so that another number of ranks can load it. The
    objects of the keywords are the same on all ranks. Rank 0 saves them, or another rank if rank 0 has no more batches.
    With DistributedDataParallel give the model that it wraps. The objects of `own` (a dict) differ from rank to rank,
    and each rank saves its own. Call step() on all ranks after each batch. `batches` is the number of calls, counted on
    from the checkpoint.

    If there were more or fewer ranks before, the states of an object of `own` are divided again if it has
    load_state_dicts(states): rank r gets those of the former ranks r, r + ranks, r + 2 ranks, …, perhaps none. Without
    that method the object loads the state of the former rank of the same number, or of rank 0.

    A checkpoint is saved only after a step of the optimiser, so that it lacks no gradient that was accumulated. Samples
    that were drawn since then are not learnt, and come again in a training that goes on from the checkpoint. A step is
    seen if one of the parts is an optimiser; if several are, any step counts. Otherwise, or with accumulate=N, every
    call, or every N-th one, counts as one after a step. step(learnt=True) and step(learnt=False) say so for one batch.
    After the loop, step once more if batches are left; rx.done() warns if it was not done.

    The training waits only until all of it is copied in memory, and a thread writes the copy, in the format of
    torch.save(). That takes as much memory on the host as the state is large, with several ranks mostly on rank 0,
    which saves the model. The memory is kept for the next copy. If the spec's training.checkpoint has "every", it is
    reserved from the first batch on, so that it is ready when the first checkpoint is due. With background=False the
    training waits instead until torch.save() has written the state. It also waits for the last checkpoint, after which
    there are no more batches, with PyTorch before 1.13, and if there is no memory for the copy.
    """

    # without a step of the optimiser for so many batches, it is taken to make its steps by itself
    _PATIENCE = 1000

    def __init__(self, rx, own=None, background=True, accumulate=None, **shared):
        self._rx = rx
        self._own, self._shared = (
            {name: _bare(name, part) for name, part in parts.items()} for parts in (own or {}, shared)
        )
        self._accumulate = accumulate
        self._optimisers = [part for part in (*self._own.values(), *self._shared.values())
                            if isinstance(part, torch.optim.Optimizer)]
        for optimiser in self._optimisers:
            _watch_steps(optimiser, self._note_step)
        self._stepped, self._since = False, 0  # whether, and batches since, the optimiser has stepped
        rx.learnt()
        self._snapshots = _snapshot.Snapshots() if background and _snapshot.available() else None
        self._prepared = False
        self.batches = rx.resume_step or 0
        self._saved = rx.resume_step  # self.batches of the newest checkpoint
        rx.on_wait(self._while_waiting)
        rx._save_own, rx._before_done = self._save, self._end  # pylint: disable=protected-access
        if rx.resume is None:
            return
        mine = self._load(rx.resume)
        first = mine if mine["leader"] == rx.rank else self._load(self._path_of(mine["leader"]))
        self._restore(self._shared, first["shared"])
        self._restore(self._own, mine["own"])
        _set_random(mine["random"], rx.rank if rx.rank >= rx.resume_ranks else None)
        if rx.resume_ranks != rx.ranks:
            self._divide()

    def _path_of(self, rank):
        return os.path.join(os.path.dirname(self._rx.resume), "state-rank%d" % rank)

    def _divide(self):
        parts = {name: part for name, part in self._own.items() if hasattr(part, "load_state_dicts")}
        former = range(self._rx.rank, self._rx.resume_ranks, self._rx.ranks) if parts else ()
        states = [self._load(self._path_of(rank))["own"] for rank in former]
        for name, part in parts.items():
            part.load_state_dicts([state[name] for state in states])

    @staticmethod
    def _load(path):
        # the file lies in a directory that only this user can write to, and may hold more than tensors
        return torch.load(path, map_location="cpu", weights_only=False)

    def _restore(self, parts, saved):
        if set(saved) != set(parts):
            raise RuntimeError("the checkpoint %s has %s, but the program gives %s"
                               % (self._rx.resume, ", ".join(sorted(saved)) or "nothing",
                                  ", ".join(sorted(parts)) or "nothing"))
        for name, part in parts.items():
            part.load_state_dict(saved[name])

    def _state(self):
        shared = self._shared if self._rx.rank == self._rx.leader else {}
        return {"leader": self._rx.leader,
                "shared": {name: part.state_dict() for name, part in shared.items()},
                "own": {name: part.state_dict() for name, part in self._own.items()},
                "random": _random()}

    def _save(self, path):
        torch.save(self._state(), path)

    def _copy(self, path):
        write = self._snapshots.take(self._state())
        if write is not None:
            return lambda: write(path)
        logging.getLogger("stretto").warning("there is no memory for a copy of the state: from now on the training "
                                             "waits while a checkpoint is written")
        self._snapshots = None
        return self._save(path)

    def _prepare(self):
        """Have memory for copies made ready after the first batch, when the optimiser has all of its state."""
        if not self._prepared and self._snapshots is not None and self._rx.checkpoint_every is not None:
            self._snapshots.prepare(self._state())
        self._prepared = True

    def _while_waiting(self):
        """Save a checkpoint that is due while no samples come; with several ranks only the last one, if all wait."""
        due = self._rx.checkpoint_due_while_waiting(self.batches)
        if due and (due == train.LAST or self.batches != self._saved):
            self._checkpoint(due)

    def _note_step(self):
        self._stepped = True

    def _is_learnt(self):
        if self._accumulate is not None:
            return self._since >= self._accumulate
        if self._stepped or not self._optimisers:
            return True
        if self._since < self._PATIENCE:
            return False
        logging.getLogger("stretto").warning(
            "no call of the optimiser's step() was seen for %d batches: from now on each batch counts as learnt. Give "
            "Checkpoints(accumulate=N) if it steps after N batches", self._since)
        self._accumulate = 1
        return True

    def _end(self):
        """The training is done: it may have had the optimiser step once more after the loop."""
        if self._stepped and self._since > 0:
            self._rx.learnt()

    def step(self, learnt=None):
        """Count a batch, and save a checkpoint if one is due and the batch is learnt. Returns whether it did."""
        self.batches += 1
        self._since += 1
        if not (self._is_learnt() if learnt is None else learnt):
            return False
        self._stepped, self._since = False, 0
        self._rx.learnt()
        self._prepare()
        due = self._rx.checkpoint_due()
        if not due:
            return False
        self._checkpoint(due)
        return True

    def _checkpoint(self, due):
        behind = self._snapshots is not None and due != train.LAST
        self._rx.checkpoint(self._copy if behind else self._save, self.batches, due)
        self._saved = self.batches
