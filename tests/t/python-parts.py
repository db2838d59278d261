"""The Python layers of trainings, over a library that only notes how it is called."""

import logging
import os
import pickle
import random
import re
import tempfile
import types

import numpy
import torch

import stretto
import stretto.torch
from stretto import _library, distributed, train

from python_rig import Calls, fails


def receiver(**answers):
    calls = Calls(**answers)
    _library.load = lambda: calls
    rx = train.open()
    calls.log.clear()
    return rx, calls


def a_receiver_tells_where_it_goes_on():
    rx, _ = receiver()
    assert (rx.rank, rx.ranks, rx.ensemble, rx.generation, rx.count, rx.batch_size) == (0, 1, 3, 2, 9, 4)
    assert rx.resume is rx.resume_step is rx.resume_ranks is None and rx.checkpoint_every == 1.5
    assert rx.parameters == ["p"] and rx.fields == {"u": train.Field(numpy.dtype("float32"), (2,), None)}
    rx, _ = receiver(resume=b"/x/state-rank0", checkpoint_every_ms=0)
    assert (rx.resume, rx.resume_step, rx.resume_ranks, rx.checkpoint_every) == ("/x/state-rank0", 7, 2, None)
    fails(RuntimeError, "not started as a training by stretto: broken", receiver, open=-1, error_code=b"not_under_stretto")
    fails(RuntimeError, "broken", receiver, open=-1, error_code=b"train_config")


def batches_are_checked_cut_and_ended():
    rx, calls = receiver(batch_ragged=3)
    scratch = rx.allocate()
    batch = rx.next_batch(scratch)
    assert [len(part) for part in (batch.fields["u"], batch.params, batch.member, batch.step)] == [3] * 4
    calls.answers["batch_ragged"] = 4
    assert rx.next_batch(scratch) is scratch
    for wrong in (scratch._replace(fields={"u": numpy.empty((4, 2))}), scratch._replace(params=numpy.empty((4, 2))),
                  scratch._replace(step=numpy.empty(8, numpy.int64)[::2]), scratch._replace(member=numpy.empty(4, numpy.int32)),
                  scratch._replace(fields={"u": train.Ragged(None, None)})):
        fails(ValueError, "a batch needs", rx.next_batch, wrong)
    waits, answers = [], iter([-2, -2, 4, 0])
    calls.batch_ragged = lambda *_: next(answers)
    rx.on_wait(lambda: waits.append(1))
    assert len(rx.next_batch().step) == 4 and len(waits) == 2
    assert rx.next_batch() is None
    calls.batch_ragged = lambda *_: -3
    fails(RuntimeError, "interrupted", rx.next_batch)
    calls.batch_ragged = lambda *_: -1
    fails(RuntimeError, "broken", rx.next_batch)
    rx.close()
    fails(RuntimeError, "this receiver is closed", rx.next_batch)


def reports_have_a_value_for_each_member():
    rx, calls = receiver()
    rx.report(torch.tensor([[1, 2], [3, 4]]), torch.tensor([[1., 2.], [3., 4.]], requires_grad=True))
    assert calls.log[-1][:2] == ("report", 4)
    rx.report(5, 2.5)
    assert calls.log[-1][:2] == ("report", 1)
    fails(ValueError, "2 members and 1 values", rx.report, [1, 2], [1])
    fails(TypeError, "this array is float64", rx.report, [1.5], [1])
    rx.report([], [])
    calls.answers["report"] = -1
    fails(RuntimeError, "broken", rx.report, 1, 1)


def what_a_program_tells_is_passed_on():
    rx, calls = receiver()
    rx.metric("löss", numpy.int64(3), numpy.float32(0.5))
    rx.interrupt()
    rx.done()
    assert calls.log == [("metric", "löss".encode(), 3, 0.5), ("interrupt",), ("unfinished",), ("unlearnt",), ("done",)]
    fails(ValueError, "at most 63 bits", rx.metric, "loss", 2 ** 64 + 3, 1)
    fails(ValueError, "at most 63 bits", rx.checkpoint, save, 2 ** 63)
    for call, arguments in (("metric", ("loss", 1, 1)), ("done", ())):
        calls.answers[call] = -1
        fails(RuntimeError, "broken", getattr(rx, call), *arguments)
    calls.batch_ragged = lambda *_: 0
    asked = []
    rx._agreement = types.SimpleNamespace(stop=lambda: asked.append("stop"), of=lambda due: asked.append(due) or train.LAST)
    assert rx.next_batch() is None and rx.checkpoint_due() == train.LAST and asked == ["stop", 0]
    calls.log.clear()
    waited = []
    rx._writer = types.SimpleNamespace(join=lambda: waited.append(list(calls.log)))
    with rx:
        pass
    assert waited == [[]] and calls.log == [("close",)]  # what is being written is waited for before
    rx.close()
    assert calls.log == [("close",)]
    for call in ("metric", "report", "checkpoint"):
        fails(RuntimeError, "this receiver is closed", getattr(rx, call), *[1] * (3 if call == "metric" else 2))


def counters_are_told_by_name():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tasks/train/stretto-train.h")) as header:
        struct = re.search(r"struct stretto_train_stats \{(.*?)\};", re.sub(r"/\*.*?\*/", "", header.read(), flags=re.S), re.S)[1]
    members = re.findall(r"(\w+)(?:\[\w+\])?\s*[,;]", struct)
    assert members == [name for name, _ in _library.Stats._fields_], members
    rx, calls = receiver(fault_name=None)
    counted = {name: 10 + number for number, name in enumerate(_library.Stats.COUNTERS)}
    times = {name: number + 0.5 for number, name in enumerate(_library.Stats.TIMES)}

    def stats(handle, out):
        for name, value in {**counted, **times, "state": 2}.items():
            setattr(out._obj, name, value)
        out._obj.draws[:] = range(8)
        out._obj.rejected_by[3] = 5

    calls.stats, calls.fault_name = stats, lambda number: b"fault%d" % number
    assert rx.stats() == {**counted, **times, "draws": list(range(8)), "rejected_by": {"fault3": 5}, "state": "draining"}


def save(path):
    with open(path, "w") as file:
        file.write("x")


def checkpoints_count_once_they_are_written(path):
    rx, calls = receiver(checkpoint_begin=path.encode())
    rx.checkpoint(save, 5)
    assert calls.log == [("checkpoint_begin", 5), ("checkpoint_end", train.DUE)]
    os.unlink(path)
    calls.log.clear()
    fails(RuntimeError, "rank 0 has saved nothing", rx.checkpoint, lambda path: None, 6)
    fails(ZeroDivisionError, "", rx.checkpoint, lambda path: 1 // 0, 6)
    assert calls.log == 2 * [("checkpoint_begin", 6), ("checkpoint_end", train.NOT_DUE)]
    calls.answers["checkpoint_due"] = train.LAST
    calls.log.clear()
    assert rx.checkpoint_due() == train.LAST
    rx.checkpoint(lambda path: lambda: save(path), 7)  # for the last one, the copy is written before
    assert calls.log == [("checkpoint_due",), ("checkpoint_begin", 7), ("checkpoint_end", train.LAST)]
    os.unlink(path)
    calls.log.clear()
    rx.checkpoint(lambda path: lambda: save(path), 8)  # what was due is over
    rx._writer.join()
    assert calls.log == [("checkpoint_begin", 8), ("checkpoint_cut", train.DUE), ("checkpoint_end", train.DUE)]
    calls.log.clear()
    logging.getLogger("stretto").addHandler(logging.NullHandler())
    rx.checkpoint(lambda path: lambda: 1 // 0, 9)
    rx._writer.join()
    assert calls.log[-1] == ("checkpoint_end", train.NOT_DUE)
    rx.rank = 1
    rx.checkpoint(None, 10, train.LAST)
    assert calls.log[-1] == ("checkpoint_end", train.LAST)
    calls.answers["checkpoint_begin"] = None
    fails(RuntimeError, "broken", rx.checkpoint, save, 11)


def who_waits_saves_what_all_can():
    rx, calls = receiver(checkpoint_due=train.DUE)
    assert rx.checkpoint_due_while_waiting(5) == train.DUE
    rx.ranks = 2
    assert rx.checkpoint_due_while_waiting(5) == train.NOT_DUE
    calls.answers["checkpoint_due"] = train.LAST
    assert rx.checkpoint_due_while_waiting(5) == train.NOT_DUE  # there is no group
    asked = []
    rx._agreement = types.SimpleNamespace(all_wait=lambda batches: asked.append(batches) or len(asked) > 1)
    assert [rx.checkpoint_due_while_waiting(5) for _ in range(2)] == [train.NOT_DUE, train.LAST] and asked == [5, 5]
    rx.ranks = 1
    calls.answers["unfinished"] = 1
    assert rx.checkpoint_due_while_waiting(5) == train.NOT_DUE and rx.unfinished


class Part:
    def __init__(self, value=None):
        self.value, self.parts = value, None

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class Divided(Part):
    def load_state_dicts(self, states):
        self.parts = [state["value"] for state in states]


class Rank:
    """In place of a receiver."""

    def __init__(self, rank, ranks, resume=None, resume_ranks=None):
        self.rank, self.ranks, self.resume, self.resume_ranks = rank, ranks, resume, resume_ranks
        self.resume_step, self.checkpoint_every = (40 if resume else None), None
        self.due, self.saved, self.leader = train.NOT_DUE, [], 0
        self.parts = []

    def _take_part(self, *part):
        self.parts.append(part)

    def learnt(self):
        pass

    def on_wait(self, call):
        self.wait = call

    def checkpoint_due(self):
        return self.due

    def checkpoint_due_while_waiting(self, batches):
        return self.due

    def checkpoint(self, write, step, due):
        self.saved.append((step, due))
        write(self.path)


def fields_do_not_hide_the_rest():
    for name in "params", "member", "step":
        rx = types.SimpleNamespace(fields={name: None, "u": None})
        fails(ValueError, "cannot be told from the batch's own: " + name, stretto.torch.StreamDataset, rx)


def what_ranks_have_of_their_own_is_divided(top):
    for rank in range(5):
        rx = Rank(rank, 5)
        rx.path, rx.due = "%s/state-rank%d" % (top, rank), train.LAST
        for seed in torch.manual_seed, numpy.random.seed, random.seed:
            seed(rank)
        stretto.torch.Checkpoints(rx, own={"seen": Divided(10 + rank), "plain": Part(20 + rank)}, model=Part(30 + rank)).step()
    for rank, path, parts, plain in ((0, 0, [10, 12, 14], 20), (1, 1, [11, 13], 21)):
        model, own = Part(), {"seen": Divided(), "plain": Part()}
        rx = Rank(rank, 2, "%s/state-rank%d" % (top, path), 5)
        checkpoints = stretto.torch.Checkpoints(rx, own=own, model=model)
        assert (model.value, own["seen"].parts, own["plain"].value, checkpoints.batches) == (30, parts, plain, 40)
        ours = torch.rand(1), numpy.random.rand(), random.random()
        for seed in torch.manual_seed, numpy.random.seed, random.seed:
            seed(path)
        assert ours == (torch.rand(1), numpy.random.rand(), random.random())
    drawn = set()
    for rank in (0, 7, 8):
        own = {"seen": Divided(), "plain": Part()}
        stretto.torch.Checkpoints(Rank(rank, 9, top + "/state-rank0", 5), own=own, model=Part())
        assert own["seen"].parts == ([] if rank else [10]) and own["plain"].value == 20
        drawn.add((torch.rand(1).item(), numpy.random.rand(), random.random()))
    assert all(len(set(numbers)) == 3 for numbers in zip(*drawn))  # no two ranks draw the same
    own = {"seen": Divided(), "plain": Part()}
    stretto.torch.Checkpoints(Rank(3, 5, top + "/state-rank3", 5), own=own, model=Part())
    assert own["seen"].parts is None and own["seen"].value == 13
    fails(RuntimeError, "has model, but the program gives network", stretto.torch.Checkpoints,
          Rank(0, 5, top + "/state-rank0", 5), own=own, network=Part())


def nothing_new_is_not_saved_while_waiting(path):
    rx = Rank(0, 1)
    rx.path = path
    checkpoints = stretto.torch.Checkpoints(rx, background=False, model=Part(1))
    rx.wait()
    assert rx.saved == []
    rx.due = train.DUE
    assert checkpoints.step() and rx.saved == [(1, train.DUE)]
    rx.wait()
    assert len(rx.saved) == 1  # it has that batch
    rx.due = train.LAST
    rx.wait()
    assert rx.saved[1:] == [(1, train.LAST)]
    rx.due = train.NOT_DUE
    assert not checkpoints.step()
    rx.due = train.DUE
    rx.wait()
    assert rx.saved[2:] == [(2, train.DUE)]


class Store:
    """In place of PyTorch's store; a value that is not there yet is one that the ranks would wait for."""

    def __init__(self):
        self.values = {}

    def set(self, key, value):
        assert key not in self.values
        self.values[key] = value

    def get(self, key):
        return self.values[key].encode()

    def add(self, key, n):
        self.values[key] = self.values.get(key, 0) + n
        return self.values[key]


class Looks(Store):
    """The same, in which nothing is waited for."""

    def __init__(self, store):
        self.values = store.values

    def get(self, key):
        if key not in self.values:
            raise RuntimeError("Timeout waiting for key")
        return super().get(key)


def agreements():
    store = Store()
    return [store] + [distributed._Agreement(store, Looks(store), Rank(rank, 2)) for rank in range(2)]


def ranks_get_the_same_answers():
    store, first, second = agreements()
    answers = [[rank.of(due) for rank, due in ((first, number % 7 == 0), (second, 2))] for number in range(50)]
    assert all(ours == theirs for ours, theirs in answers) and answers[0] == [1, 1]
    assert 1 < len(store.values) <= 50  # rank 0 answers some of them, and tells which
    first.stop()  # from now on the other one decides
    assert first.of(2) == 0 and 2 in [second.of(2) for _ in range(3000)]
    store, first, second = agreements()
    second.stop()
    assert first.of(1) == 1 and second.of(1) == 0
    store, first, second = agreements()
    second.PAUSE = first.PAUSE = 0
    assert not first.all_wait(5) and not second.all_wait(6)
    assert store.values == {"waiting-5": 0, "waiting-6": 0}  # nobody waits any more
    store.add("waiting-7", 1)  # the second one does
    assert first.all_wait(7)
    second.PAUSE = 60
    store.values["waiting-7"] = 0
    assert second.all_wait(7)  # the first one says that all did


def ranks_without_batches_take_part_in_checkpoints():
    _, first, second = agreements()
    assert first.begin(7, train.DUE) == second.begin(8, train.DUE) == (7, train.DUE, 0)
    second.begin_again()  # it could not be saved
    assert second.begin(7, train.LAST) == (7, train.DUE, 0)
    first.stop()
    first.take_part()
    assert first._rx.parts == []
    assert second.begin(9, train.LAST) == (9, train.LAST, 1)  # and saves the model
    second.begin(10, train.DUE)
    first.take_part()
    assert first._rx.parts == [(9, train.LAST, 1), (10, train.DUE, 1)]


def a_rank_that_leaves_too_early_is_told():
    _, first, second = agreements()
    second.blame()  # nobody has left
    first._tell(left=0, batches=5, how="by rx.done()")
    second.blame()
    first._hear()
    assert first._blamed == ("rank 0 ended by rx.done(), after 5 batches, while rank 1 went on: ranks have to end together, "
                             "or in model.join()"), first._blamed
    assert second._blamed is None


def a_rank_is_one_process():
    store = Store()
    rx = types.SimpleNamespace(rank=0, ranks=1)
    device = torch.device("cpu")
    assert [name["pid"] for name in distributed._meet(store, rx, device)] == [os.getpid()]
    fails(RuntimeError, "two processes are rank 0", distributed._meet, store, rx, device)


def ranks_that_share_a_gpu_do_without_nccl():
    def backend(*gpus, device="cuda", hosts="aaaa"):
        names = [{"host": host, "pid": 1, "gpu": gpu} for host, gpu in zip(hosts, gpus)]
        return distributed._backend(torch.device(device), names)

    assert backend("GPU-1", "GPU-2", "GPU-3") == "nccl"
    assert backend("GPU-1", "GPU-2", "GPU-1") == "gloo"
    assert backend("GPU-1", "GPU-1", hosts="ab") == "nccl"  # as two virtual machines may name them
    assert backend(None, None) == "nccl"  # an old PyTorch does not tell
    assert backend("GPU-1", "GPU-2", device="cpu") == "gloo"


def memory_is_used_again_once_nobody_has_it():
    rx, calls = receiver(batch_ragged=4)
    dataset = stretto.torch.StreamDataset(rx)
    batches, held = iter(dataset), []
    for _ in range(5):
        held.append(next(batches))
    assert set(held[0]) == {"u", "params", "member", "step"} and held[0]["u"].shape == (4, 2) and held[0]["params"].dtype == torch.float64
    places = [batch["u"].data_ptr() for batch in held]
    assert len(set(places)) == 5  # none is overwritten while the program holds it
    part = held[0]["u"][1:]
    del held[0]
    assert next(batches)["u"].data_ptr() != places[0]  # a part of it is still seen
    del part
    assert next(batches)["u"].data_ptr() == places[0]
    calls.answers["batch_ragged"] = 0
    assert next(batches, None) is None


def mistakes_with_loaders_are_answered():
    rx, _ = receiver(batch_ragged=4)
    dataset, loader = stretto.torch.StreamDataset(rx), torch.utils.data.DataLoader
    right = "use DataLoader(dataset, batch_size=None, num_workers=0)"
    fails(TypeError, right, lambda: next(iter(loader(dataset))))
    fails(TypeError, right, lambda: next(iter(loader(dataset, batch_size=8))))
    for context in "spawn", "fork":
        fails((TypeError, RuntimeError), right, lambda: next(iter(loader(dataset, batch_size=None, num_workers=1,
                                                                         multiprocessing_context=context))))
    fails(TypeError, "cannot be given to another", pickle.dumps, rx)
    assert len(next(iter(loader(dataset, batch_size=None)))["step"]) == 4


def said(call):
    """Return what the logger says while call() runs."""
    lines, handler = [], logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("stretto").addHandler(handler)
    try:
        call()
    finally:
        logging.getLogger("stretto").removeHandler(handler)
    return "".join(lines)


def a_second_pass_is_told():
    rx, _ = receiver(batch_ragged=0)
    dataset = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
    for passes in (lambda: list(dataset)), (lambda: list(rx.batches())):
        rx._ended = False
        assert said(passes) == ""
        assert "has no second epoch" in said(passes)


def a_child_has_no_stream():
    rx, calls = receiver(batch_ragged=4)
    rx._pid += 1
    fails(RuntimeError, "its child %d has none" % os.getpid(), rx.next_batch)
    stretto.train.Receiver._close(calls, None, rx._pid)
    assert calls.log == []


def checkpoints_come_after_steps_of_the_optimiser(path):
    def steps(pattern, **more):
        model = torch.nn.Linear(2, 1)
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        rx = Rank(0, 1)
        rx.path, rx.due = path, train.DUE
        checkpoints = stretto.torch.Checkpoints(rx, background=False, model=model, optimiser=optimiser, **more)
        torch.optim.lr_scheduler.StepLR(optimiser, 2)
        saved = []
        for stepped in pattern:
            if stepped == 1:
                optimiser.step()
            saved.append(int(checkpoints.step(**({"learnt": stepped == 2} if stepped > 1 else {}))))
        return saved

    assert steps([0, 0, 1, 1, 0, 1, 2, 3]) == [0, 0, 1, 1, 0, 1, 1, 0]
    assert steps([0, 0, 0, 1, 0, 1], accumulate=2) == [0, 1, 0, 1, 0, 1]
    assert "no call of the optimiser's step()" in said(lambda: steps([0] * 1002))
    rx = Rank(0, 1)
    rx.path, rx.due = path, train.DUE
    wrapped = torch.nn.DataParallel(torch.nn.Linear(2, 1))
    stretto.torch.Checkpoints(rx, background=False, model=wrapped).step()
    assert set(torch.load(path)["shared"]["model"]) == {"weight", "bias"}  # as one without the wrapper has it


def a_rank_that_fails_because_of_another_waits_to_be_ended():
    slept = []
    distributed.time = types.SimpleNamespace(sleep=slept.append)
    store = Store()
    blamed = []
    agreement = types.SimpleNamespace(blame=lambda: blamed.append(len(slept)))

    def fail(error):
        with distributed._blaming_the_first(store, agreement):
            raise error

    os.environ["STRETTO_FAILURE_AFTER_MS"] = "1500"
    fails(ValueError, "mine", fail, ValueError("mine"))
    assert slept == []
    fails(ValueError, "mine", fail, ValueError("mine"))
    assert slept == [1.5]
    store.values.clear()
    fails(RuntimeError, "reset", fail, RuntimeError("Connection reset by peer"))
    assert slept == [1.5, 1.5] and blamed == [0, 1]  # before it waits
    with distributed._blaming_the_first(store, agreement):
        pass
    with distributed.process_group(types.SimpleNamespace(ranks=1)):  # one rank needs no other
        assert not torch.distributed.is_initialized()
    del os.environ["STRETTO_FAILURE_AFTER_MS"]
    assert distributed._failure_after().total_seconds() == 60


def ragged_parts():
    part = train.Ragged(numpy.arange(6), numpy.array([0, 2, 2, 6]))
    assert [list(entry) for entry in part] == [[0, 1], [], [2, 3, 4, 5]] and list(part[-3]) == [0, 1]
    fails(IndexError, "3 samples has none of number 3", part.__getitem__, 3)
    first = part._first(2)
    assert len(first) == 2 and list(first.data) == [0, 1]


with tempfile.TemporaryDirectory() as folder:
    a_receiver_tells_where_it_goes_on()
    batches_are_checked_cut_and_ended()
    reports_have_a_value_for_each_member()
    what_a_program_tells_is_passed_on()
    counters_are_told_by_name()
    checkpoints_count_once_they_are_written(folder + "/state")
    who_waits_saves_what_all_can()
    fields_do_not_hide_the_rest()
    what_ranks_have_of_their_own_is_divided(folder)
    nothing_new_is_not_saved_while_waiting(folder + "/other")
    ranks_get_the_same_answers()
    ranks_without_batches_take_part_in_checkpoints()
    a_rank_that_leaves_too_early_is_told()
    a_rank_is_one_process()
    ranks_that_share_a_gpu_do_without_nccl()
    memory_is_used_again_once_nobody_has_it()
    mistakes_with_loaders_are_answered()
    a_second_pass_is_told()
    a_child_has_no_stream()
    checkpoints_come_after_steps_of_the_optimiser(folder + "/steps")
    ragged_parts()
    a_rank_that_fails_because_of_another_waits_to_be_ended()
