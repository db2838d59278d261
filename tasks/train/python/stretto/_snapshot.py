"""Copies of a program's state in memory, which a thread writes as torch.save() would.

torch.save() itself cannot do that behind a training. Up to PyTorch 2.2 it holds the interpreter's lock while it writes
a tensor, so that the training stands still, whichever thread calls it. So the archive is written here: the format is
that of torch.save(), described in PyTorch's notes on serialization, and torch.load() reads it.
"""

import io
import mmap
import os
import pickle
import sys
import threading
import weakref
import zipfile

import torch

from stretto import _library

_PIECE = 8 << 20   # bytes that a thread copies or writes at once
_ALIGNMENT = 64     # of a tensor's bytes in the archive, and in memory
_THREADS_MAX = 8    # that copy; more of them get no more out of the memory


def available():
    """Return whether this PyTorch has storages without a type, which the pickler expects: 1.13 and later do."""
    return hasattr(torch, "UntypedStorage")


class _Pickler(pickle.Pickler):
    """Pickles as torch.save() does: all but the bytes of tensors, whose storages are collected."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = {}  # untyped storages by their address in PyTorch, which no other has while they are held here
        self._keys = {}

    def persistent_id(self, obj):
        if isinstance(obj, torch.storage.TypedStorage):
            old = not hasattr(obj, "_untyped_storage")  # as in PyTorch 1.13
            storage = obj._storage if old else obj._untyped_storage
            name = obj.pickle_storage_type() if old else obj._pickle_storage_type()
            kind, count = getattr(torch, name), obj.size() if old else obj._size()
        elif isinstance(obj, torch.UntypedStorage):
            storage, kind, count = obj, torch.UntypedStorage, obj.nbytes()
        else:
            return None
        self.storages.setdefault(storage._cdata, storage)
        key = self._keys.setdefault(storage._cdata, str(len(self._keys)))
        return "storage", kind, key, torch.serialization.location_tag(storage), count


def _dump(state):
    """Return the pickle of all but the bytes of tensors, and the storages that have these."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(state)
    return file.getvalue(), list(pickler.storages.values())


def _room(storages):
    """Return where each storage lies in memory, and how much memory there is."""
    offsets, end = [], 0
    for storage in storages:
        offsets.append(end)
        end += -(-storage.nbytes() // _ALIGNMENT) * _ALIGNMENT
    return offsets, end


def _unpin(runtime, pointer, gpu):
    with torch.cuda.device(gpu):
        runtime.cudaHostUnregister(pointer)


def _pin(tensor, gpu):
    """Lock the tensor's pages for copies from the GPU, which then are several times as fast, until the tensor is gone.

    PyTorch's own page-locked memory would be rounded up to a power of two, which a job's limit may not have room for.
    Each thread has a current GPU of its own, at first the first one, on which such a call takes memory: so it is set.
    """
    runtime = torch.cuda.cudart()
    with torch.cuda.device(gpu):
        if int(runtime.cudaHostRegister(tensor.data_ptr(), tensor.numel(), 0)) == 0:
            # not at the process's end, when CUDA may be gone already
            weakref.finalize(tensor, _unpin, runtime, tensor.data_ptr(), gpu).atexit = False
            return
        try:
            torch.zeros(1, device=gpu)
        except RuntimeError:
            pass  # CUDA tells the error once more to whoever calls it next, which must not be the training


def _allocate(size, gpu):
    """Return a tensor of bytes whose pages are there, since the first use of a page costs more than a copy into it.

    They are locked for copies from the GPU, a torch.device, unless it is None.
    """
    memory = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            pass  # not every kernel has them
    tensor = torch.frombuffer(memory, dtype=torch.uint8).zero_()
    if gpu is not None:
        _pin(tensor, gpu)
    return tensor


def _bytes_of(storage):
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _copy_all(moves):
    """Copy memory, on all processors of this process: a list of (to, from, size)."""
    pieces = [(to + at, source + at, min(size - at, _PIECE)) for to, source, size in moves
              for at in range(0, size, _PIECE)]
    left, copy_piece = iter(pieces), _library.load().copy

    def copy():
        for piece in left:  # each piece comes to one thread
            copy_piece(*piece)

    helpers = min(len(os.sched_getaffinity(0)), _THREADS_MAX, len(pieces)) - 1
    threads = [threading.Thread(target=copy) for _ in range(helpers)]
    for thread in threads:
        thread.start()
    copy()
    for thread in threads:
        thread.join()


class _Archive:
    """The zip file that torch.save() writes: nothing is compressed, and tensors are aligned."""

    def __init__(self, path):
        self._file = open(path, "wb")
        self._zip = zipfile.ZipFile(self._file, "w", allowZip64=True)

    def add(self, name, data):
        info = zipfile.ZipInfo("archive/" + name)
        # a local header of 30 bytes, the name, the padding's own header of 4, the padding, and 20 bytes for large sizes
        before = self._file.tell() + 30 + len(info.filename) + 4 + 20
        padding = -before % _ALIGNMENT
        info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=True) as record:
            for at in range(0, len(data), _PIECE):
                record.write(data[at:at + _PIECE])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        with self._file:
            self._zip.close()


class Snapshots:
    """Memory for the copy of a state, which is used again for each."""

    def __init__(self):
        self._memory = None
        self._preparing = None

    def prepare(self, state):
        """Begin to allocate memory for a state of this size, in the background."""
        storages = _dump(state)[1]
        self._preparing = threading.Thread(target=self._make_room, args=(storages,), name="stretto-snapshot")
        self._preparing.start()

    def _make_room(self, storages):
        """Return whether there is memory enough."""
        size = _room(storages)[1]
        if self._memory is not None and len(self._memory) >= size:
            return True
        self._memory = None  # so that there are never two
        try:
            gpus = (storage.device for storage in storages if storage.device.type == "cuda")
            self._memory = _allocate(max(size, 1), next(gpus, None))
        except (MemoryError, OSError, RuntimeError):
            return False
        return True

    def take(self, state):
        """Copy the state. Returns a function that writes the copy to a path, or None if there is no memory for it.

        The next copy may be taken once that function has returned.
        """
        pickled, storages = _dump(state)
        if self._preparing is not None:
            self._preparing.join()
            self._preparing = None
        if not self._make_room(storages):
            return None
        offsets, moves, devices = _room(storages)[0], [], set()
        for storage, offset in zip(storages, offsets):
            size = storage.nbytes()
            if size > 0 and storage.device.type == "cpu":
                moves.append((self._memory.data_ptr() + offset, storage.data_ptr(), size))
            elif size > 0:
                self._memory[offset:offset + size].copy_(_bytes_of(storage), non_blocking=True)
                devices.add(storage.device)
        _copy_all(moves)
        for device in devices:
            if device.type == "cuda":
                torch.cuda.current_stream(device).synchronize()
        parts = [(offset, storage.nbytes()) for offset, storage in zip(offsets, storages)]
        return lambda path: self._write(path, pickled, parts)

    def _write(self, path, pickled, parts):
        memory = memoryview(self._memory.numpy())
        with _Archive(path) as archive:
            archive.add("data.pkl", pickled)
            archive.add("byteorder", sys.byteorder.encode())
            for key, (offset, size) in enumerate(parts):
                archive.add("data/%d" % key, memory[offset:offset + size])
            archive.add("version", b"3\n")
