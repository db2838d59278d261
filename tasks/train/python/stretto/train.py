"""Batches of an ensemble's samples as NumPy arrays.

    import stretto.train

    with stretto.train.open() as rx:
        for batch in rx.batches():
            step(batch.params, batch.fields["temperature"])
            rx.metric("train_loss", n, loss)
            if rx.checkpoint_due():
                rx.checkpoint(save, n)
        rx.done()

Reception runs on a thread of its own in C from open() to close(): nothing needs to be called to keep it alive, and it
goes on while Python validates, saves or sleeps. Draw batches from one thread at a time.
"""

import collections
import ctypes
import logging
import os
import threading
import weakref

import numpy

from stretto import _library

# the codes of enum stretto_dtype of stretto.h
_DTYPES = {1: numpy.float32, 2: numpy.float64, 3: numpy.int32, 4: numpy.int64, 5: numpy.uint8}
_STATES = ("waiting", "receiving", "draining", "done", "unfinished")
# Python looks at its signals this often while it waits for samples.
_WAIT_MS = 100

#: What checkpoint_due() returns: nothing is due; a checkpoint is due; it is due, and the last one of these ranks, whose
#: time is nearly over, or which are to be more or fewer.
NOT_DUE, DUE, LAST = 0, 1, 2

#: A field's dtype (numpy.dtype) and shape (tuple). A first extent that varies is -1 in it, and at most `max`.
Field = collections.namedtuple("Field", "dtype shape max", defaults=(None,))

#: A batch. fields: dict of name to array (B, *shape), or to Ragged; params: float64 (B, P); member, step: int64 (B,).
Batch = collections.namedtuple("Batch", "fields params member step")


class Ragged:
    """A batch's samples of a field whose first extent varies: a sequence of arrays, all of them parts of one.

    Sample i is data[offsets[i]:offsets[i + 1]]; data (N, *rest) and offsets (B + 1,) are arrays, or tensors.
    """

    def __init__(self, data, offsets):
        self.data = data
        self.offsets = offsets

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError("a batch of %d samples has none of number %d" % (len(self), i))
        i %= len(self)
        return self.data[self.offsets[i]:self.offsets[i + 1]]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _first(self, count):
        """Return the part that the first `count` samples fill."""
        return Ragged(self.data[:self.offsets[count]], self.offsets[:count + 1])


def _number(step):
    """Return a step as a number that fits into 64 bits, which ctypes would not check."""
    step = int(step)
    if not -2 ** 63 <= step < 2 ** 63:
        raise ValueError("a step has at most 63 bits, not %d" % step)
    return step


def _pointers(arrays):
    return (ctypes.c_void_p * len(arrays))(*(None if array is None else array.ctypes.data for array in arrays))


class Receiver:
    """A rank's end of the stream; made by open()."""

    def __init__(self):
        self._calls = _library.load()
        self._handle = ctypes.c_void_p()
        if self._calls.open(ctypes.byref(self._handle)) != 0:
            code = self._calls.error_code(self._handle).decode()
            reason = self._calls.error(self._handle).decode(errors="replace")
            self._calls.close(self._handle)
            if code == "not_under_stretto":
                raise RuntimeError("this program was not started as a training by stretto: %s. Submit an ensemble "
                                   "whose spec names it as training.command" % reason)
            raise RuntimeError(reason)
        calls, handle = self._calls, self._handle
        # closes it when nobody does, since its thread and its socket must not outlive the interpreter
        self._finalizer = weakref.finalize(self, self._close, calls, handle, os.getpid())
        self._pid = os.getpid()
        #: This rank's number, from 0, and the number of ranks; the ensemble, the training's generation, the number of
        #: members, and the number of samples in a batch.
        self.rank = calls.rank(handle)
        self.ranks = calls.ranks(handle)
        self.ensemble = calls.ensemble(handle)
        self.generation = calls.generation(handle)
        self.count = calls.count(handle)
        self.batch_size = calls.batch_size(handle)
        #: What the program saved in the checkpoint that this training goes on from, by the path of its file or
        #: directory, its step, and how many ranks saved it; None if the training begins at the start. With another
        #: number of ranks, a batch of all of them together has another size, and the program may want another learning
        #: rate.
        path = calls.resume(handle)
        self.resume = None if path is None else os.fsdecode(path)
        self.resume_step = None if path is None else calls.resume_step(handle)
        self.resume_ranks = None if path is None else calls.resume_ranks(handle)
        #: How often a checkpoint becomes due, in seconds; None if none does before the end of the time.
        self.checkpoint_every = calls.checkpoint_every_ms(handle) / 1000 or None
        self._due = NOT_DUE
        self._writer = None  # the thread that writes the newest checkpoint
        self._on_wait = None
        # with several ranks: an object that makes their decisions the same (stretto.distributed)
        self._agreement = None
        # what checkpoint() calls for this rank once it has no more batches, while others have (stretto.torch)
        self._save_own = None
        self._before_done = lambda: None
        self._ended = False    # there are no more batches
        self._drawn = 0        # batches
        self._end = "by leaving its loop over the batches"  # how this rank has ended, for messages
        #: The rank that saves the model in the checkpoint that is being saved: rank 0, as long as it has batches.
        self.leader = 0
        #: Names of the numeric parameters: the columns of Batch.params.
        self.parameters = [calls.parameter_name(handle, i).decode() for i in range(calls.parameters(handle))]
        #: The fields by name.
        self.fields = {}
        for i in range(calls.fields(handle)):
            shape = tuple(calls.field_extent(handle, i, d) for d in range(calls.field_ndim(handle, i)))
            self.fields[calls.field_name(handle, i).decode()] = Field(
                numpy.dtype(_DTYPES[calls.field_dtype(handle, i)]), shape, calls.field_max(handle, i) or None)

    @staticmethod
    def _close(calls, handle, pid):
        if os.getpid() == pid:  # a child that was forked has none of the threads
            calls.close(handle)

    def __reduce__(self):
        raise TypeError("the stream comes to this process alone: a receiver cannot be given to another one")

    def _open_handle(self):
        if not self._handle:
            raise RuntimeError("this receiver is closed")
        if os.getpid() != self._pid:
            raise RuntimeError(
                "the stream comes to process %d, which opened it: its child %d has none" % (self._pid, os.getpid())
            )
        return self._handle

    def _failed(self):
        raise RuntimeError(self._calls.error(self._handle).decode(errors="replace"))

    def _sign_of_life(self):
        """Show that the program lives, though it waits for other ranks."""
        if self._handle:
            self._calls.checkpoint_due(self._handle)

    def allocate(self):
        """Return a Batch of uninitialised arrays for batches(into=)."""
        return self.allocate_rest({name: numpy.empty(self.shape_of(field), field.dtype)
                                   for name, field in self.fields.items()})

    def shape_of(self, field):
        """Return the shape of an array for a batch of this Field, with room for the largest samples if they vary."""
        if field.max is None:
            return (self.batch_size,) + field.shape
        return (self.batch_size * field.max,) + field.shape[1:]

    def allocate_rest(self, fields):
        """Return a Batch of these arrays for the fields, and uninitialised arrays for the rest."""
        size = self.batch_size
        fields = {name: array if self.fields[name].max is None else Ragged(array, numpy.empty(size + 1, numpy.int64))
                  for name, array in fields.items()}
        return Batch(fields, numpy.empty((size, len(self.parameters))), numpy.empty(size, numpy.int64),
                     numpy.empty(size, numpy.int64))

    def next_batch(self, into=None):
        """Return the next batch, or None once reception is over and everything has been drawn.

        Waits for samples with the interpreter lock released. `into` is a Batch whose arrays (C-contiguous, of a full
        batch) are overwritten and returned, as views if the last batch is shorter. Without it, new arrays are made.
        """
        batch = self._check(into) if into is not None else self.allocate()
        arrays = [batch.fields[name] for name in self.fields]
        ragged = [isinstance(array, Ragged) for array in arrays]
        data = _pointers([array.data if is_ragged else array for array, is_ragged in zip(arrays, ragged)])
        offsets = _pointers([array.offsets if is_ragged else None for array, is_ragged in zip(arrays, ragged)])
        handle = self._open_handle()
        while True:
            count = self._calls.batch_ragged(handle, data, offsets, batch.params.ctypes.data, batch.member.ctypes.data,
                                             batch.step.ctypes.data, _WAIT_MS)
            if count != _library.AGAIN:
                break
            if self._agreement is not None and self._agreement.enough:
                count = _library.END
                break
            if self._on_wait is not None:
                self._on_wait()
        if count == _library.END:
            self._ended = True
            self._end = "since it had no more batches"
            if self._agreement is not None:
                self._agreement.stop()
            return None
        if count == _library.INTERRUPTED:
            raise RuntimeError("the receiver was interrupted")
        if count < 0:
            self._failed()
        self._drawn += 1
        if count == self.batch_size and not any(ragged):
            return batch
        return Batch({name: array._first(count) if isinstance(array, Ragged) else array[:count]
                      for name, array in batch.fields.items()},
                     batch.params[:count], batch.member[:count], batch.step[:count])

    def _check(self, batch):
        size = self.batch_size
        wanted = []
        for name, field in self.fields.items():
            array = batch.fields[name]
            if isinstance(array, Ragged) != (field.max is not None):
                raise ValueError("a batch needs what allocate() makes: an array for a field of fixed shape, a Ragged "
                                 "for one that varies; \"%s\" is a %s" % (name, type(array).__name__))
            if isinstance(array, Ragged):
                wanted.append((array.offsets, numpy.int64, (size + 1,)))
                array = array.data
            wanted.append((array, field.dtype, self.shape_of(field)))
        wanted += [(batch.params, numpy.float64, (size, len(self.parameters))), (batch.member, numpy.int64, (size,)),
                   (batch.step, numpy.int64, (size,))]
        for array, dtype, shape in wanted:
            fits = array.dtype == dtype and array.shape == shape
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("a batch needs writeable C-contiguous arrays as allocate() makes them: wanted %s %s, "
                                 "got %s %s" % (numpy.dtype(dtype), shape, array.dtype, array.shape))
        return batch

    def batches(self, into=None):
        """Iterate over batches until reception is over and everything has been drawn.

        A second pass is empty, and says so.
        """
        self._warn_of_second_pass()
        while True:
            batch = self.next_batch(into)
            if batch is None:
                return
            yield batch

    def _warn_of_second_pass(self):
        if self._ended and not self.unfinished:
            logging.getLogger("stretto").warning(
                "the stream has ended, and has no second epoch: this pass over it is empty. A Reservoir "
                "(training.buffer in the spec) draws samples again while the members run")

    def metric(self, name, step, value):
        """Add a point to a metric series, such as ("train_loss", batches so far, loss)."""
        if self._calls.metric(self._open_handle(), str(name).encode(), _number(step), float(value)) != 0:
            self._failed()

    def report(self, member, value):
        """Report a value of a member, such as the loss of its samples; or one for each of several members, as arrays.

        The daemon gets the mean of each member's values within a second, as a point of the member's metric "statistic".
        Lists of members are sorted by it, and generators choose from it. Tensors are accepted as well.
        """
        members, values = (
            array.detach().cpu().numpy() if hasattr(array, "detach") else array for array in (member, value)
        )
        members = numpy.asarray(members)
        if members.size > 0 and not numpy.can_cast(members.dtype, numpy.int64, "safe"):
            raise TypeError("members are told by their numbers, as int64; this array is %s" % members.dtype)
        members = numpy.ascontiguousarray(members, numpy.int64).reshape(-1)
        values = numpy.ascontiguousarray(values, numpy.float64).reshape(-1)
        if members.shape != values.shape:
            raise ValueError("%d members and %d values" % (members.size, values.size))
        if self._calls.report(self._open_handle(), members.size, members.ctypes.data, values.ctypes.data) != 0:
            self._failed()

    def stats(self):
        """Return the counters of docs/run-directory.md as a dict."""
        stats = _library.Stats()
        self._calls.stats(self._open_handle(), ctypes.byref(stats))
        result = {name: getattr(stats, name) for name in stats.COUNTERS}
        result.update((name, getattr(stats, name)) for name in stats.TIMES)
        result["draws"] = list(stats.draws)
        result["rejected_by"] = {self._calls.fault_name(i).decode(): n for i, n in enumerate(stats.rejected_by) if n}
        result["state"] = _STATES[stats.state]
        return result

    def learnt(self):
        """Say that the model has learnt from all batches that were given out.

        Without this call, that is understood when a checkpoint is saved. From the first call on, only what was given
        out before the last call counts as learnt: other samples come again in a training that goes on from a
        checkpoint. A program that accumulates gradients over several batches calls it at its beginning, and after each
        step of its optimiser; stretto.torch does so.
        """
        if self._calls.learnt(self._open_handle()) != 0:
            self._failed()

    @property
    def unlearnt(self):
        """The number of samples that were given out since learnt() was called; 0 if it never was."""
        return self._calls.unlearnt(self._open_handle())

    def checkpoint_due(self):
        """Return whether a checkpoint is due, to be asked after each batch: NOT_DUE (which is false), DUE or LAST.

        Times are those of the spec's training.checkpoint; without it, none is ever due. One that becomes due while this
        rank is still writing the one before is put off until that is written, but not the last one. The ranks of a
        process group (stretto.distributed) get the same answer, if each asks as often as the others. Other programs
        with several ranks let one rank ask, send its answer to all, and give it to checkpoint().
        """
        due = self._calls.checkpoint_due(self._open_handle())
        self._due = due if self._agreement is None else self._agreement.of(due)
        return self._due

    def checkpoint(self, save, step, due=None):
        """Save a checkpoint: what `save` writes, together with which samples were drawn before it.

        `save(path)` writes the program's state (model, optimiser, random states) to that path, as a file or a
        directory; it is called at once. With several ranks each saves the checkpoint of the same step, and ranks other
        than 0 may give None for `save`. In a process group (stretto.distributed) a rank that has no more batches takes
        its part by itself. If that is rank 0, another one has to save the model: `leader` is its number when `save` is
        called. `step` is the program's own count, which grows, also over the checkpoint that the training goes on from.
        If it does not, the checkpoint gets the next number, and a warning says so. `due` is what checkpoint_due() said;
        it need not be given if this rank has asked. The rest is written in the background. After LAST, however, there
        are no more batches, and done() reports that the training is to go on in another job.

        The training goes on sooner if `save` only copies the state in memory and returns a function that writes the
        copy. That is called without arguments in a thread of its own, and this method returns; stretto.torch does so.
        The checkpoint is of the moment at which `save` returned, and counts once it is whole. The next checkpoint(),
        done() and close() wait for the thread. If the function raises, the program goes on, and the checkpoint before
        stays the newest. The logger "stretto" says why this one is not saved (on standard error, unless the program has
        configured logging). For LAST the function is called before this method returns, and what it raises is raised.

        A training that goes on from the checkpoint never gets the samples again that were drawn before it, and gets all
        others, so the model must have learnt from every batch that was given out, or learnt() says from which. Raises
        what `save` raises, after which the same step may be tried again.
        """
        due = due or self._due or DUE
        self._open_handle()
        if self._agreement is not None:
            step, due, self.leader = self._agreement.begin(_number(step), due)
        try:
            self._checkpoint(save, step, due)
        except BaseException:
            if self._agreement is not None:
                self._agreement.begin_again()
            raise

    def _checkpoint(self, save, step, due):
        handle = self._open_handle()
        path = self._calls.checkpoint_begin(handle, _number(step))
        if path is None:
            self._failed()
        path = os.fsdecode(path)
        try:
            write = save(path) if save is not None else None
            behind = callable(write) and due != LAST
            if callable(write) and not behind:
                write()
            if not behind:
                self._require_state(path)
        except BaseException:
            self._calls.checkpoint_end(handle, NOT_DUE)
            raise
        finish = self._calls.checkpoint_cut if behind else self._calls.checkpoint_end
        if finish(handle, due) != 0:
            self._failed()
        self._due = NOT_DUE
        if behind:
            self._start_writer(write, path, int(step))

    def _start_writer(self, *args):
        # not a daemon: the interpreter does not end before the checkpoint is written
        self._writer = threading.Thread(target=self._write, args=args, name="stretto-checkpoint")
        try:
            self._writer.start()
        except RuntimeError:  # no thread can be started
            self._writer = None
            self._write(*args)

    def _require_state(self, path):
        if self.rank == self.leader and not os.path.lexists(path):
            raise RuntimeError("rank %d has saved nothing, and no other rank saves the model: %s is not there"
                               % (self.rank, path))

    def _take_part(self, step, due, leader):
        """Save this rank's part of a checkpoint of the others, since it has no more batches itself."""
        if not self._handle:
            return
        self.leader = leader
        try:
            self._checkpoint(self._save_own, step, due)
        except Exception:  # pylint: disable=broad-except
            if due == LAST:
                raise
            logging.getLogger("stretto").exception("the checkpoint of step %d is not saved", step)

    def _write(self, write, path, step):
        """Write a copied state, in a thread of its own."""
        written = NOT_DUE
        try:
            write()
            self._require_state(path)
            written = DUE
        except Exception:  # pylint: disable=broad-except
            logging.getLogger("stretto").exception("the checkpoint of step %d is not saved: %s cannot be written", step,
                                                   path)
        finally:
            self._calls.checkpoint_end(self._handle, written)

    def on_wait(self, call):
        """Have `call()` called about ten times a second while next_batch() waits for samples; None: nothing.

        So a program can save a checkpoint although no more samples come: the last one before the end of its time, or
        one for which reception waits (checkpoint_due_while_waiting()).
        """
        self._on_wait = call

    def checkpoint_due_while_waiting(self, batches):
        """Return the same as checkpoint_due(), for on_wait(): a checkpoint that is due then is saved there, or not
        before more samples come.

        `batches` is the program's number of batches. With several ranks only the last checkpoint is ever due there. The
        ranks of a process group (stretto.distributed) save it if all of them wait after the same number; if one is in
        the middle of a batch, the others may have to take part in it. With several ranks and no such group none is.
        """
        due = NOT_DUE if self.unfinished else self._calls.checkpoint_due(self._open_handle())
        if self.ranks == 1 or due == NOT_DUE:
            return due
        if due == LAST and self._agreement is not None and self._agreement.all_wait(batches):
            return due
        return NOT_DUE

    @property
    def unfinished(self):
        """Whether the last checkpoint of these ranks is saved, so that the training goes on in another job."""
        return self._calls.unfinished(self._open_handle()) != 0

    def interrupt(self):
        """End a wait for samples, from any thread, and reception with it: members that still send get no answer."""
        self._calls.interrupt(self._open_handle())

    def done(self):
        """Report to the daemon that this training has finished with success. Closing alone does not.

        Before next_batch() has returned None this says that the training has learnt enough. Once all ranks have said
        that they are done, and have ended, members that still run are ended and no others are started. The ensemble is
        then complete. A rank that says so early ends the stream of the others: they get what they hold, and then None.

        If it is unfinished, the call reports that instead."""
        self._before_done()
        if not self.unfinished and self.unlearnt > 0:
            logging.getLogger("stretto").warning(
                "%d samples were given out after the last step of the optimiser, and no model has learnt from them: "
                "have it step once more after the loop, or say so by learnt()", self.unlearnt)
        self._end = "by rx.done()"
        if self._agreement is not None:
            self._agreement.stop()
            self._agreement.take_part()
        if self._calls.done(self._open_handle()) != 0:
            self._failed()

    def close(self):
        """Stop receiving, once a checkpoint that is being written is written. Arrays already given stay valid."""
        if self._writer is not None:
            self._writer.join()
        self._finalizer()
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def open():  # pylint: disable=redefined-builtin
    """Start to receive, as the rank that the environment names. Raises RuntimeError where stretto did not start this
    program."""
    return Receiver()
