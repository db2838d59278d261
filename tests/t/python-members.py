"""The Python layers of members, over a library that only notes how it is called."""

import ctypes
import json
import math
import os
import tempfile

import numpy

import stretto
from stretto import _library
from python_rig import Calls, fails

member = __import__("stretto.member", fromlist=["*"])
metrics = __import__("stretto.metrics", fromlist=["*"])


class MemberCalls(Calls):
    def open_patiently(self, handle, patience):
        return self.open(handle)

    def describe(self, handle, name, dtype, ndim, shape):
        dtype._obj.value, ndim._obj.value, shape[0] = self.answers.get("dtype", 2), 1, 3
        return self.answers.get("describe", 1)

    def lend_extent(self, handle, number, extent, address):
        self.log.append(("lend_extent", extent))
        self.memory = ctypes.create_string_buffer(800)
        address._obj.value = ctypes.addressof(self.memory)
        return 0


def arrays_fit_their_fields():
    calls = MemberCalls(active=1, time_left=2.5)
    _library.load_member = lambda: calls
    os.environ.update(STRETTO_MEMBER="4", STRETTO_SEED="", STRETTO_PARAMS='{"a": 1}', STRETTO_RESUME="")
    ours = member.open()
    assert (ours.index, ours.seed, ours.params, ours.resume, ours.active) == (4, None, {"a": 1}, None, True)
    assert ours.time_left() == 2.5 and ours.describe("u") == (numpy.dtype("float64"), (3,))
    field = ours.field("u", 3, ">f8")
    assert (field.shape, field.dtype) == ((3,), numpy.dtype("float64"))
    calls.log.clear()
    field.send(numpy.int64(7), numpy.zeros(3))
    field.send(8, [1, 2, 3])
    assert [call[2:4] for call in calls.log] == [(7, 3), (8, 3)]
    fails(TypeError, "masked", field.send, 1, numpy.ma.zeros(3))
    fails(TypeError, "declared as float64, but this array is float32", field.send, 1, numpy.zeros(3, numpy.float32))
    fails(ValueError, "declared as (3,), but this array is (4,)", field.send, 1, numpy.zeros(4))
    fails(TypeError, "float16 arrays cannot be sent", ours.field, "u", 3, "float16")
    fails(TypeError, "integer", field.send, 1.5, numpy.zeros(3))
    fails(TypeError, "only there", field.lend, 3)
    calls.answers["dtype"] = 1
    calls.log.clear()
    ours.send(9, v=numpy.zeros(3), w=[1, 2, 3])  # an array is declared as what it is, and numbers as the spec has them
    assert [call[1:4] for call in calls.log if call[0] == "field"] == [(b"v", 2, 1), (b"w", 1, 1)], calls.log
    varying = ours.field("u", (-1, 2))
    fails(TypeError, "only there", varying.lend)
    fails(ValueError, "declared as (-1, 2)", varying.send, 1, numpy.zeros((5, 3)))
    array = varying.lend(5)
    assert array.shape == (5, 2) and varying.lend(5) is array and not varying.lend(0).size and not array.flags.writeable
    varying.send_lent(3)
    fails(stretto.StreamError, "nothing is lent", varying.send_lent, 4)
    whole = ours.field("i", 3, "int32")
    whole.send(1, [2 ** 31 - 1, -2 ** 31, 0])
    fails(ValueError, 'field "i", step 7: 3000000000 at [1] does not fit into int32', whole.send, 7, [1, 3000000000, 2])
    fails(ValueError, "-2147483649 at [2] does not fit", whole.send, 7, [1, 2, -2147483649])
    fails(TypeError, "this array is float64", whole.send, 7, [1.5, 2, 3])
    fails(ValueError, "at most 63 bits", whole.send, 2 ** 64 + 7, [1, 2, 3])
    scalar = ours.field("n", (), int)
    fails(ValueError, 'step 7: %d does not fit into int64' % 2 ** 63, scalar.send, 7, 2 ** 63)
    calls.log.clear()
    scalar.send(1, 5)
    assert calls.log[0][:4] == ("send_extent", 0, 1, 1)
    calls.answers["send_extent"] = -1
    fails(stretto.StreamError, "broken", scalar.send, 1, 5)
    calls.answers["finish"] = 0
    ours.close()
    ours.close()
    assert [call[0] for call in calls.log].count("finish") == 1 and calls.log[-1] == ("abort",)
    fails(stretto.StreamError, "this stream is closed", scalar.send, 1, 5)
    calls.log.clear()
    try:
        with member.open():
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert [call[0] for call in calls.log if call[0] in ("finish", "abort")] == ["abort"]  # it has not finished


def a_member_asks_the_library():
    calls = MemberCalls(active=0)
    _library.load_member = lambda: calls
    os.environ.update(STRETTO_ENSEMBLE="12", STRETTO_MEMBER="", STRETTO_ATTEMPT="3", STRETTO_SEED="99", STRETTO_PARAMS="",
                      STRETTO_RESUME="/c/a", STRETTO_CHECKPOINT_DIR="/c")
    ours = member.open()
    assert (ours.ensemble, ours.index, ours.attempt, ours.seed, ours.params) == (12, None, 3, 99, {})
    assert (ours.resume, ours.checkpoint_dir, ours.active) == ("/c/a", "/c", False)
    os.environ["STRETTO_CHECKPOINT_DIR"] = ""
    assert member.open().checkpoint_dir is None
    calls.log.clear()
    assert ours.checkpoint_due(2.5) is False
    calls.answers["checkpoint_due"] = 1
    assert ours.checkpoint_due() is True
    ours.checkpointed("/c/ä", numpy.int64(7))
    assert calls.log == [("checkpoint_due", 2.5), ("checkpoint_due", 0.0), ("checkpointed", os.fsencode("/c/ä"), 7)]
    calls.answers["checkpointed"] = -1
    fails(stretto.StreamError, "broken", ours.checkpointed, "/c/a", 1)
    fails(TypeError, "", ours.checkpointed, "/c/a", 1.5)
    field = ours.field("u", 3)
    array = field.lend()
    array[:] = (1, 2, 3)
    assert list((ctypes.c_double * 3).from_buffer(calls.memory)) == [1, 2, 3] and calls.log[-1] == ("lend_extent", 3)
    assert field.lend() is array
    calls.log.clear()
    field.send_lent(numpy.int64(9))
    assert calls.log == [("send_lent", 0, 9)] and not array.flags.writeable
    again = field.lend()
    assert again is not array and again.flags.writeable
    ours.field("u", 3)  # a new declaration takes it back
    assert not again.flags.writeable
    scalar = ours.field("n", (), int)
    number = scalar.lend()
    assert number.shape == () and calls.log[-1] == ("lend_extent", 1)
    calls.answers["describe"] = 0
    calls.log.clear()
    ours.send(4, w=[[1, 2], [3, 4]], x=5)  # an idle stream takes any first extent
    assert [call[3] for call in calls.log if call[0] == "field"] == [2, 0] and ours.describe("w") is None
    assert ours._fields["w"].shape == (-1, 2)
    results = iter([member._AGAIN, member._AGAIN, 0])
    calls.finish = lambda handle: next(results)
    ours.close()
    assert next(results, "all were asked for") == "all were asked for" and calls.log[-1] == ("abort",) and not number.flags.writeable
    for call, arguments in (("checkpoint_due", ()), ("checkpointed", ("/c/a", 1)), ("time_left", ()), ("field", ("u",))):
        fails(stretto.StreamError, "this stream is closed", getattr(ours, call), *arguments)
    calls.answers["open"] = -1
    calls.log.clear()
    fails(stretto.StreamError, "broken", member.open)
    assert calls.log == [("error",), ("abort",)]


def metrics_are_bounded(path):
    os.environ["STRETTO_METRICS"] = path
    metrics.metric("lö", 3, math.nan)
    metrics.metric("x" * 100, numpy.int64(4), numpy.float32(0.5))
    for done in (-1, 0.5, 3):
        metrics.progress(done, 2)
    for wrong in ("", "a\n", "x" * 101, "ö" * 51):
        fails(ValueError, "1 to 100 bytes", metrics.metric, wrong, 1, 1)
    fails(ValueError, "no part of a whole", metrics.progress, math.nan)
    fails(ZeroDivisionError, "", metrics.progress, 1, 0)
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    assert [line.get("name") for line in lines[:2]] == ["lö", "x" * 100] and lines[1]["step"] == 4 and lines[1]["value"] == 0.5
    assert [line["progress"] for line in lines[2:]] == [0, 0.25, 1] and all(line["time"] > 1e9 for line in lines)


arrays_fit_their_fields()
a_member_asks_the_library()
with tempfile.TemporaryDirectory() as folder:
    metrics_are_bounded(folder + "/metrics")
