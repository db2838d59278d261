"""A rank for the tests of the stream: checks every sample, keeps its own books, prints them as JSON.

stream-rank.py numpy|torch|plain MEMBERS STEPS
"""

import collections
import json
import sys
import time

import numpy

import stretto.train


def check(fields, params, member, step):
    """Compare a batch with what stream-member sends."""
    size = len(member)
    assert fields["temperature"].shape == (size, 3, 4) and fields["temperature"].dtype == numpy.float32
    assert fields["flux"].shape == (size, 2) and fields["flux"].dtype == numpy.float64
    assert params.shape == (size, 2) and params.dtype == numpy.float64
    grid = numpy.arange(12).reshape(1, 3, 4) / 16
    assert (fields["temperature"] == (100 * member + step).reshape(-1, 1, 1) + grid).all()
    assert (fields["flux"] == numpy.stack([member + 0.1, step + 0.1], axis=1)).all()
    assert (params == numpy.stack([member * 1.5, -member], axis=1)).all()
    if "particles" in fields:
        check_particles(fields["particles"], member, step)


def check_particles(particles, member, step):
    """Of a field whose first extent varies."""
    size = len(member)
    assert len(particles) == len(list(particles)) == size and len(particles.data) == particles.offsets[-1]
    assert particles.data.shape[1:] == (3,) and particles.data.dtype == numpy.float32
    for i in range(size):
        wanted = member[i] + step[i] + numpy.arange(step[i] * 7 % 41 * 3).reshape(-1, 3) / 16
        assert particles[i].shape == wanted.shape and (particles[i] == wanted).all(), (member[i], step[i])
    for wrong in (size, -size - 1):
        try:
            particles[wrong]
            raise AssertionError(wrong)
        except IndexError:
            pass
    assert (particles[-1] == particles[size - 1]).all()


def numpy_batches(rx, total):
    """All batches; after the first one, this thread is busy without a call of the library until all has come."""
    scratch = rx.allocate()
    for number, batch in enumerate(rx.batches(scratch)):
        assert number == 0 or batch.member.base is scratch.member or batch.member is scratch.member
        assert "particles" not in batch.fields or numpy.shares_memory(batch.fields["particles"].data, scratch.fields["particles"].data) or \
            len(batch.fields["particles"].data) == 0
        yield batch.fields, batch.params, batch.member, batch.step
        limit = time.monotonic() + 300
        while number == 0 and rx.stats()["received"] < total:
            assert time.monotonic() < limit, "reception stands still while Python is busy"
            sum(range(100000))


def torch_batches(rx):
    """All batches through a DataLoader."""
    import torch.utils.data
    import stretto.torch
    dataset = stretto.torch.StreamDataset(rx)
    try:
        next(iter(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1)))
        raise AssertionError("a worker process cannot receive")
    except RuntimeError as error:
        assert "num_workers=0" in str(error), error
    held, kept = None, True  # a part of a batch, and what was in it: of one at a time, so that memory is used again meanwhile
    places = collections.Counter()
    for number, batch in enumerate(torch.utils.data.DataLoader(dataset, batch_size=None)):
        places[batch["temperature"].data_ptr()] += 1
        if number % 5 == 0:  # by a slice, by a view, as an array, by what varies
            kept = kept and (held is None or (numpy.asarray(held[0]) == held[1]).all())
            field = batch["temperature"]
            part = [field[1:], field.view(-1), field.numpy()[:2], batch["particles"].data][number // 5 % 4]
            held = part, numpy.array(part)
        particles = batch.pop("particles")
        assert all(isinstance(part, torch.Tensor) for part in particles)
        arrays = {name: tensor.numpy() for name, tensor in batch.items()}
        assert all(isinstance(tensor, torch.Tensor) for tensor in batch.values())
        arrays["particles"] = stretto.train.Ragged(particles.data.numpy(), particles.offsets.numpy())
        yield arrays, arrays["params"], arrays["member"], arrays["step"]
    assert number >= 20 and kept and (numpy.asarray(held[0]) == held[1]).all(), "a batch that is held was overwritten"
    assert len(places) < sum(places.values()), "no memory was used again"


def plain_batches(rx):
    """All batches, as most programs draw them."""
    for batch in rx.batches():
        yield batch.fields, batch.params, batch.member, batch.step


def main():
    kind, members, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    drawn = collections.Counter()
    sizes = collections.Counter()
    with stretto.train.open() as rx:
        assert list(rx.fields) in (["flux", "particles", "temperature"], ["flux", "temperature"])
        assert rx.fields["temperature"].shape == (3, 4) and rx.fields["flux"].max is None
        assert rx.fields.get("particles", (numpy.float32, (-1, 3), 40)) == (numpy.float32, (-1, 3), 40)
        assert rx.parameters == ["p", "q"]
        assert (rx.rank, rx.ranks, rx.count, rx.batch_size) == (0, 1, members, 8)
        batches = {"numpy": lambda: numpy_batches(rx, members * steps), "torch": lambda: torch_batches(rx),
                   "plain": lambda: plain_batches(rx)}[kind]()
        for fields, params, member, step in batches:
            check(fields, params, member, step)
            sizes[len(member)] += 1
            before = len(drawn)
            drawn.update(zip(member.tolist(), step.tolist()))
            if len(drawn) == before:
                time.sleep(0.01)  # nothing but repeats: the members need the processor more
            rx.metric("train_loss", sum(sizes.values()), 1 / sum(sizes.values()))
        assert rx.next_batch() is None
        assert sum(count for size, count in sizes.items() if size != 8) <= 1
        stats = rx.stats()
        rx.done()
    try:
        rx.stats()
        raise AssertionError("a closed receiver answers")
    except RuntimeError as error:
        assert "closed" in str(error)
    assert set(drawn) == {(m, s) for m in range(members) for s in range(steps)}
    assert stats["drawn"] == len(drawn) and stats["drawn"] + stats["repeats"] == sum(drawn.values())
    print(json.dumps(dict(stats, own_unique=len(drawn), own_batches=sum(sizes.values()))))


main()
