"""The fields of a running simulation, sent to the training of its ensemble.

    import stretto

    with stretto.open() as member:
        temperature = member.field("temperature", u.shape, u.dtype)
        for step in range(steps):
            advance(u)
            temperature.send(step, u)

Leaving the block, also by sys.exit(0), waits until the training holds everything that was sent. Leaving it by another
exception does not, and the member then has not succeeded. A program that is not run under stretto still runs: the
stream is then idle and sends nothing, and a line on stderr says so once.

An array is copied once, in C with the interpreter lock released; that copy narrows float64 if the spec wants
float32. An array that is not C-contiguous, or not of this machine's byte order, is copied once more before. With
Field.lend() there is no copy.

Only the process that opened a stream can use it: in one that it forks afterwards, as multiprocessing does, calls raise
StreamError. Let such a process open a stream of its own, or return its data to the one that opened the stream.
"""

import collections
import ctypes
import json
import operator
import os
import threading
import weakref

import numpy

from stretto import _library

# the codes of enum stretto_dtype of stretto.h
_CODES = {"float32": 1, "float64": 2, "int32": 3, "int64": 4, "uint8": 5}
_NAMES = {code: name for name, code in _CODES.items()}
_NDIM_MAX = 4
_AGAIN = -2
# A call that waits lets Python look at its signals this often.
_PATIENCE_MS = 100

#: The description of a field in the spec: its numpy.dtype, and its shape, a tuple.
Description = collections.namedtuple("Description", "dtype shape")


class StreamError(RuntimeError):
    """The stream cannot do what was asked; the text says why."""


def _dtype_code(name, dtype):
    code = _CODES.get(dtype.newbyteorder("=").name)
    if code is None:
        raise TypeError("field \"%s\": %s arrays cannot be sent: convert to one of %s"
                        % (name, dtype, ", ".join(_CODES)))
    return code


def _step(step):
    """Return the step as a number that fits into 64 bits, which ctypes would not check."""
    step = operator.index(step)
    if not -2 ** 63 <= step < 2 ** 63:
        raise ValueError("a step has at most 63 bits, not %d" % step)
    return step


def _require_fit(name, data, dtype, step):
    """Refuse whole numbers that the field's type cannot hold."""
    if dtype.kind not in "iu" or data.size == 0:
        return
    limits = numpy.iinfo(dtype)
    for place in data.argmin(), data.argmax():
        value = int(data.flat[place])
        if not limits.min <= value <= limits.max:
            where = [int(n) for n in numpy.unravel_index(place, data.shape)]
            raise ValueError("field \"%s\", step %d: %d%s does not fit into %s"
                             % (name, step, value, " at %s" % where if where else "", dtype))


def _environment_number(name):
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else None


def _is_normal_exit(exception):
    """Return whether the exception ends the program with exit status 0, as sys.exit(0) does."""
    return isinstance(exception, SystemExit) and (exception.code is None or
                                                  isinstance(exception.code, int) and exception.code == 0)


# All members' ends of streams. In a forked process their locks may be held by threads that it does not have.
_members = weakref.WeakSet()


def _renew_locks():
    for member in _members:
        member._lock = threading.Lock()  # pylint: disable=protected-access


os.register_at_fork(after_in_child=_renew_locks)


class Field:
    """A declared field; made by Member.field()."""

    def __init__(self, member, name, shape, dtype, number):
        self._member = member
        self._number = number
        self._varies = shape[:1] == (-1,)
        self._lent = None
        #: The name (str), shape (tuple) and dtype (numpy.dtype) with which it was declared.
        self.name = name
        self.shape = shape
        self.dtype = dtype

    def _fitting(self, step, data):
        if isinstance(data, numpy.ma.MaskedArray):
            raise TypeError("field \"%s\": a masked array has values that are none: send .filled(...)" % self.name)
        if not isinstance(data, numpy.ndarray):
            data = numpy.asarray(data)
            if numpy.can_cast(data.dtype, self.dtype, "same_kind"):
                _require_fit(self.name, data, self.dtype, step)
                data = data.astype(self.dtype)
        if data.dtype.newbyteorder("=") != self.dtype:
            raise TypeError("field \"%s\" was declared as %s, but this array is %s"
                            % (self.name, self.dtype, data.dtype))
        if data.shape != self.shape and not (self._varies and data.ndim == len(self.shape)
                                             and data.shape[1:] == self.shape[1:]):
            raise ValueError("field \"%s\" was declared as %s, but this array is %s"
                             % (self.name, self.shape, data.shape))
        return numpy.asarray(data, self.dtype, order="C")

    def send(self, step, data):
        """Send one time step of the field: an array of the declared dtype and shape, which may be reused at once.

        If the first extent was declared as -1, the array may have any first extent.
        The call waits while the training's buffers are full, with the interpreter lock released. A step that is sent
        twice counts once.
        """
        step = _step(step)
        data = self._fitting(step, data)
        self._member._send("send_extent", self._number, step, data.shape[0] if data.ndim else 1,
                           data.ctypes.data)

    def lend(self, extent=None):
        """Return the field's next send buffer as an array to write into. Its contents are undefined.

        If the first extent was declared as -1, the array's first extent is `extent`.

        If the declared dtype is the spec's, nothing is copied on the way to the network. The array is yours until
        send_lent() or the end of the stream: after that it is read-only, and views of it that you have made must not
        be touched. Until then another call returns the same array; a call with another `extent` takes it back and
        returns another one.
        """
        if self._varies == (extent is None):
            raise TypeError("field \"%s\": the extent is told where it was declared as -1, and only there" % self.name)
        shape = (operator.index(extent),) + self.shape[1:] if self._varies else self.shape
        if self._lent is None or self._lent.shape != shape:
            address = self._member._lend(self._number, shape[0] if shape else 1)
            self._take_back()
            size = self.dtype.itemsize * int(numpy.prod(shape, dtype=numpy.int64))
            memory = (ctypes.c_ubyte * size).from_address(address)
            self._lent = (numpy.frombuffer(memory, self.dtype) if size else numpy.empty(0, self.dtype)).reshape(shape)
        return self._lent

    def send_lent(self, step):
        """Send one time step of the field, as send() does, from the array that lend() returned."""
        if self._lent is None:
            raise StreamError("nothing is lent for field \"%s\"" % self.name)
        self._member._send("send_lent", self._number, _step(step))
        self._take_back()

    def _take_back(self):
        if self._lent is not None:
            self._lent.flags.writeable = False
            self._lent = None


class Member:
    """A member's end of the stream; made by open(). Its calls may be made from any thread, one at a time."""

    def __init__(self):
        self._calls = _library.load_member()
        self._owner = os.getpid()
        self._handle = ctypes.c_void_p()
        self._lock = threading.Lock()
        _members.add(self)
        # the stream also ends when nobody closes it, or when a signal's handler raises while this waits
        self._finalizer = weakref.finalize(self, self._calls.abort, self._handle)
        self._fields = {}
        try:
            self._patiently(self._calls.open_patiently, ctypes.byref(self._handle), _PATIENCE_MS)
        except BaseException:
            self._finalizer()
            raise
        #: False if the stream is idle: the program was not started by stretto, or its ensemble has no training.
        self.active = bool(self._calls.active(self._handle))
        #: The member's ensemble, index, attempt and own seed; None if the program was not started by stretto.
        self.ensemble = _environment_number("STRETTO_ENSEMBLE")
        self.index = _environment_number("STRETTO_MEMBER")
        self.attempt = _environment_number("STRETTO_ATTEMPT")
        self.seed = _environment_number("STRETTO_SEED")
        #: The directory for checkpoints, the same in every attempt, and the checkpoint to go on from; or None.
        self.checkpoint_dir = os.environ.get("STRETTO_CHECKPOINT_DIR") or None
        self.resume = os.environ.get("STRETTO_RESUME") or None
        #: The member's parameters by name.
        self.params = json.loads(os.environ.get("STRETTO_PARAMS") or "{}")

    def _patiently(self, call, *arguments):
        """Repeat the call until it is done. Exceptions of a signal's handler come through meanwhile."""
        while True:
            result = call(*arguments)
            if result >= 0:
                return result
            if result != _AGAIN:
                raise StreamError(self._calls.error(self._handle).decode(errors="replace"))

    def _open_handle(self):
        if not self._finalizer.alive:
            raise StreamError("this stream is closed")
        return self._handle

    def describe(self, name):
        """Return the Description of a field in the spec, or None if the stream is idle."""
        dtype, ndim = ctypes.c_int(), ctypes.c_int()
        shape = (ctypes.c_int64 * _NDIM_MAX)()
        with self._lock:
            known = self._patiently(self._calls.describe, self._open_handle(), name.encode(), ctypes.byref(dtype),
                                    ctypes.byref(ndim), shape)
        return Description(numpy.dtype(_NAMES[dtype.value]), tuple(shape[:ndim.value])) if known else None

    def field(self, name, shape=(), dtype=float):
        """Declare a field by its name in the spec's training.fields, as it will be sent; returns a Field.

        The shape must be the spec's (C order), with -1 for a first extent that varies. The dtype may differ from the
        spec's in one way: float64 for float32.
        """
        dtype = numpy.dtype(dtype).newbyteorder("=")
        shape = tuple(operator.index(n) for n in (shape if numpy.iterable(shape) else (shape,)))
        code = _dtype_code(name, dtype)
        with self._lock:
            number = self._patiently(self._calls.field, self._open_handle(), name.encode(), code, len(shape),
                                     (ctypes.c_int64 * len(shape))(*shape))
        if name in self._fields:
            self._fields[name]._take_back()
        self._fields[name] = Field(self, name, shape, dtype, number)
        return self._fields[name]

    def send(self, step, **arrays):
        """Send fields of one time step by name: member.send(step, temperature=u, flux=f).

        A field that was not declared before is declared with its array's dtype and shape. A list or a number is
        converted to the spec's.
        """
        for name, data in arrays.items():
            field = self._fields.get(name) or self._declare(name, data)
            field.send(step, data)

    def _declare(self, name, data):
        array = numpy.asarray(data)
        known, shape = self.describe(name), array.shape
        fits = known and not isinstance(data, numpy.ndarray) and numpy.can_cast(array.dtype, known.dtype, "same_kind")
        if shape and (known is None or known.shape[:1] == (-1,)):  # an idle stream accepts what any spec could
            shape = (-1,) + shape[1:]
        return self.field(name, shape, known.dtype if fits else array.dtype)

    def _send(self, call, number, step, *data):
        with self._lock:
            self._patiently(getattr(self._calls, call), self._open_handle(), number, step, *data)

    def _lend(self, number, extent):
        address = ctypes.c_void_p()
        with self._lock:
            self._patiently(self._calls.lend_extent, self._open_handle(), number, extent, ctypes.byref(address))
        return address.value

    def time_left(self):
        """Return the seconds until the member's walltime ends; infinity if there is no limit."""
        return self._calls.time_left(self._open_handle())

    def checkpoint_due(self, seconds=0.0):
        """Return whether it is time to leave a checkpoint and stop.

        It is if less time is left than `seconds`, which the next step and a checkpoint after it need, or than the
        spec's checkpoint.before. Without a limit it never is.
        """
        return bool(self._calls.checkpoint_due(self._open_handle(), seconds))

    def checkpointed(self, path, step):
        """Record a checkpoint: the file is whole, closed, in checkpoint_dir, and will not be written to again.

        From then on another attempt may go on from it: its `resume` is the path of the file. Older checkpoints may be
        removed. Send the steps that the checkpoint covers before the call, which waits until the training holds
        everything that was sent.
        """
        with self._lock:
            self._patiently(self._calls.checkpointed, self._open_handle(), os.fsencode(path), _step(step))

    def close(self):
        """Wait until the training holds everything that was sent, and tell it that this member has finished.

        Raises StreamError if that fails; the member must then not report success.
        """
        if not self._finalizer.alive:
            return
        with self._lock:
            self._patiently(self._calls.finish, self._handle)
        self.abort()

    def abort(self):
        """End the stream without finishing: the training does not take the member for finished."""
        for field in self._fields.values():
            field._take_back()
        with self._lock:
            self._finalizer()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        try:
            # a process that was forked in the block may end by sys.exit() in it: the stream is not its own
            if kind is None or _is_normal_exit(value) and self._owner == os.getpid():
                self.close()
        finally:
            self.abort()


def open():  # pylint: disable=redefined-builtin
    """Open the stream that the environment names. Waits until the training is there."""
    return Member()
