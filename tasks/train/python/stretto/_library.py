"""The C libraries under stretto.train and stretto.member, found and declared."""

import ctypes
import ctypes.util
import os


class Stats(ctypes.Structure):
    """The counters: struct stretto_train_stats of stretto-train.h."""

    COUNTERS = ("received", "unique", "duplicates", "rejected", "drawn", "repeats", "batches", "population", "unseen",
                "finalized", "bytes", "memory_bytes", "skipped")
    TIMES = ("samples_per_second", "room_wait_seconds", "sample_wait_seconds")
    _fields_ = [(name, ctypes.c_uint64) for name in COUNTERS] + [
        ("draws", ctypes.c_uint64 * 8), ("rejected_by", ctypes.c_uint64 * 32)] + [
        (name, ctypes.c_double) for name in TIMES] + [("state", ctypes.c_int32), ("doing", ctypes.c_int32)]


END, AGAIN, INTERRUPTED = 0, -2, -3

_POINTER, _TEXT, _INT, _INT64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_int64
_SIGNATURES = {
    "open": (_INT, ctypes.POINTER(_POINTER)),
    "close": (None, _POINTER),
    "error": (_TEXT, _POINTER),
    "error_code": (_TEXT, _POINTER),
    "rank": (_INT, _POINTER),
    "ranks": (_INT, _POINTER),
    "ensemble": (_INT64, _POINTER),
    "generation": (_INT64, _POINTER),
    "count": (_INT64, _POINTER),
    "batch_size": (_INT64, _POINTER),
    "fields": (_INT, _POINTER),
    "field_name": (_TEXT, _POINTER, _INT),
    "field_dtype": (_INT, _POINTER, _INT),
    "field_ndim": (_INT, _POINTER, _INT),
    "field_extent": (_INT64, _POINTER, _INT, _INT),
    "field_max": (_INT64, _POINTER, _INT),
    "parameters": (_INT, _POINTER),
    "parameter_name": (_TEXT, _POINTER, _INT),
    "batch_ragged": (_INT, _POINTER, ctypes.POINTER(_POINTER), ctypes.POINTER(_POINTER), _POINTER, _POINTER, _POINTER,
                     _INT),
    "interrupt": (None, _POINTER),
    "metric": (_INT, _POINTER, _TEXT, _INT64, ctypes.c_double),
    "report": (_INT, _POINTER, _INT, _POINTER, _POINTER),
    "fault_name": (_TEXT, _INT),
    "stats": (None, _POINTER, ctypes.POINTER(Stats)),
    "learnt": (_INT, _POINTER),
    "unlearnt": (_INT64, _POINTER),
    "checkpoint_due": (_INT, _POINTER),
    "checkpoint_every_ms": (_INT64, _POINTER),
    "checkpoint_begin": (_TEXT, _POINTER, _INT64),
    "checkpoint_cut": (_INT, _POINTER, _INT),
    "copy": (None, _POINTER, _POINTER, ctypes.c_size_t),
    "checkpoint_end": (_INT, _POINTER, _INT),
    "resume": (_TEXT, _POINTER),
    "resume_step": (_INT64, _POINTER),
    "resume_ranks": (_INT, _POINTER),
    "unfinished": (_INT, _POINTER),
    "done": (_INT, _POINTER),
}


_MEMBER_SIGNATURES = {
    "open_patiently": (_INT, ctypes.POINTER(_POINTER), _INT),
    "active": (_INT, _POINTER),
    "field": (_INT, _POINTER, _TEXT, _INT, _INT, ctypes.POINTER(_INT64)),
    "describe": (_INT, _POINTER, _TEXT, ctypes.POINTER(_INT), ctypes.POINTER(_INT), ctypes.POINTER(_INT64)),
    "send_extent": (_INT, _POINTER, _INT, _INT64, _INT64, _POINTER),
    "lend_extent": (_INT, _POINTER, _INT, _INT64, ctypes.POINTER(_POINTER)),
    "send_lent": (_INT, _POINTER, _INT, _INT64),
    "time_left": (ctypes.c_double, _POINTER),
    "checkpoint_due": (_INT, _POINTER, ctypes.c_double),
    "checkpointed": (_INT, _POINTER, _TEXT, _INT64),
    "finish": (_INT, _POINTER),
    "abort": (None, _POINTER),
    "error": (_TEXT, _POINTER),
}


def _candidates(variable, constant, name):
    yield os.environ.get(variable)
    try:
        from stretto import _config  # this module is written when stretto is built
        yield getattr(_config, constant)
    except ImportError:
        pass
    yield os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib%s.so.0" % name)
    yield ctypes.util.find_library(name)


def _load(candidates, name, prefix, signatures):
    tried = []
    for path in filter(None, candidates):
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            tried.append(str(error))
    else:
        raise RuntimeError("cannot load lib%s: %s" % (name, "; ".join(tried)))
    calls = type("Calls", (), {})()
    for short, (result, *arguments) in signatures.items():
        call = getattr(library, prefix + short)
        call.restype = result
        call.argtypes = arguments
        setattr(calls, short, call)
    return calls


def load():
    """Load libstretto-train. Its calls are attributes, without their prefix, with the types of their arguments."""
    return _load(_candidates("STRETTO_TRAIN_LIBRARY", "LIBRARY", "stretto-train"), "stretto-train", "stretto_train_",
                 _SIGNATURES)


def load_member():
    """Load libstretto, in the same form."""
    return _load(_candidates("STRETTO_LIBRARY", "MEMBER_LIBRARY", "stretto"), "stretto", "stretto_", _MEMBER_SIGNATURES)
