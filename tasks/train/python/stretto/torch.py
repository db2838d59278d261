"""Batches of an ensemble's samples as tensors.

    rx = stretto.train.open()
    loader = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
    for batch in loader:
        ...batch["temperature"], batch["params"], batch["member"], batch["step"]
"""

import torch
import torch.utils.data

from stretto import train


class StreamDataset(torch.utils.data.IterableDataset):
    """Whole batches, each a dict of tensors: the fields by name, "params" (float64), "member" and "step" (int64).

    The receiver is in this process and has its own thread, so a DataLoader takes batch_size=None and no workers. With
    pin_memory, batches are written straight into page-locked memory, for a copy to the GPU that does not block.
    """

    def __init__(self, rx, pin_memory=False):
        super().__init__()
        clash = {"params", "member", "step"} & set(rx.fields)
        if clash:
            raise ValueError("fields of these names cannot be told from the batch's own: %s" % ", ".join(sorted(clash)))
        self._rx = rx
        self._pin_memory = pin_memory

    def _allocate(self):
        arrays = self._rx.allocate()
        if not self._pin_memory:
            return arrays
        pinned = lambda array: torch.from_numpy(array).pin_memory().numpy()
        return train.Batch({name: pinned(array) for name, array in arrays.fields.items()}, pinned(arrays.params),
                           pinned(arrays.member), pinned(arrays.step))

    def __iter__(self):
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("the stream is received in this process: use DataLoader(..., batch_size=None, "
                               "num_workers=0)")
        while True:
            batch = self._rx.next_batch(self._allocate())
            if batch is None:
                return
            tensors = {name: torch.from_numpy(array) for name, array in batch.fields.items()}
            tensors["params"] = torch.from_numpy(batch.params)
            tensors["member"] = torch.from_numpy(batch.member)
            tensors["step"] = torch.from_numpy(batch.step)
            yield tensors
