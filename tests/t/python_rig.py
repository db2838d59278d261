"""A library in place of libstretto or libstretto-train, which only notes how it is called."""


def fails(error, words, call, *args, **more):
    try:
        call(*args, **more)
    except error as raised:
        assert words in str(raised), raised
        return
    raise AssertionError("%s was not raised" % error.__name__)


class Calls:
    """In place of libstretto-train: a rank with a field of 2 numbers, and what was asked of it."""

    def __init__(self, **answers):
        self.log = []
        self.answers = {"rank": 0, "ranks": 1, "ensemble": 3, "generation": 2, "count": 9, "batch_size": 4, "resume": None, "resume_step": 7,
                        "resume_ranks": 2, "checkpoint_every_ms": 1500, "parameters": 1, "parameter_name": b"p", "fields": 1,
                        "field_name": b"u", "field_ndim": 1, "field_extent": 2, "field_max": 0, "field_dtype": 1, "checkpoint_due": 0,
                        "unfinished": 0, "error": b"broken", "error_code": b"", **answers}

    def open(self, handle):
        handle._obj.value = 1
        return self.answers.get("open", 0)

    def __getattr__(self, name):
        def call(handle, *args):
            self.log.append((name, *args))
            return self.answers.get(name, 0)
        return call
