"""Batches of an ensemble's samples as tensors.

    rx = stretto.train.open()
    loader = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
    for batch in loader:
        ...batch["temperature"], batch["params"], batch["member"], batch["step"]
"""

import weakref

import numpy
import torch
import torch.utils.data

from stretto import train

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


class StreamDataset(torch.utils.data.IterableDataset):
    """Whole batches, each a dict of tensors: the fields by name, "params" (float64), "member" and "step" (int64).

    A field whose first extent varies is a stretto.train.Ragged of tensors.

    The receiver is in this process and has its own thread, so a DataLoader needs batch_size=None and no workers. Memory
    of tensors that are gone is used again. With pin_memory, batches are written straight into page-locked memory, which
    can be copied to the GPU without blocking.
    """

    def __init__(self, rx, pin_memory=False):
        super().__init__()
        clash = {"params", "member", "step"} & set(rx.fields)
        if clash:
            raise ValueError("fields of these names cannot be told from the batch's own: %s" % ", ".join(sorted(clash)))
        self._rx = rx
        # PyTorch reuses pinned memory itself, and knows which copies from it have not ended
        self._allocate = self._allocate_pinned if pin_memory else _Batches(rx).get

    def _allocate_pinned(self):
        def pinned(array):
            return torch.empty(array.shape, dtype=torch.from_numpy(array).dtype, pin_memory=True).numpy()

        fields = {name: pinned(numpy.empty(self._rx.shape_of(field), field.dtype))
                  for name, field in self._rx.fields.items()}
        batch = self._rx.allocate_rest(fields)
        return train.Batch(batch.fields, pinned(batch.params), pinned(batch.member), pinned(batch.step))

    def __iter__(self):
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("the stream is received in this process: use DataLoader(..., batch_size=None, "
                               "num_workers=0)")
        while True:
            batch = self._rx.next_batch(self._allocate())
            if batch is None:
                return
            tensors = {name: _tensor(field) for name, field in batch.fields.items()}
            tensors["params"] = torch.from_numpy(batch.params)
            tensors["member"] = torch.from_numpy(batch.member)
            tensors["step"] = torch.from_numpy(batch.step)
            yield tensors
            del tensors, batch  # so that the next batch may use their memory
