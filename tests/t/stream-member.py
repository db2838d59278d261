"""An ensemble member for the tests of the stream, which sends what stream-member.c does, in every way there is.

stream-member.py STEPS                    so many steps
stream-member.py full MARK                tells its pid and sends for ever; SIGUSR1's handler makes the file MARK
stream-member.py fail                     leaves its block by an exception
"""

import os
import signal
import sys

import numpy

import stretto


def raises(kind, text, call, *arguments, **named):
    """The call fails with that in its message."""
    try:
        call(*arguments, **named)
    except kind as error:
        assert text in str(error), error
        return
    raise AssertionError("%s was taken: %s %s" % (call, arguments, named))


def wrong_calls(member, temperature, particles):
    """Every mistake is refused where it is made, and the stream goes on."""
    grid = numpy.zeros((3, 4))
    raises(TypeError, "float16 arrays cannot be sent", member.field, "temperature", (3, 4), "float16")
    raises(TypeError, "was declared as float64, but this array is float32", temperature.send, 0, grid.astype("float32"))
    raises(ValueError, "was declared as (3, 4), but this array is (4, 3)", temperature.send, 0, grid.T)
    raises(TypeError, "masked", temperature.send, 0, numpy.ma.masked_array(grid))
    raises(TypeError, "integer", temperature.send, 1.5, grid)
    raises(stretto.StreamError, "nothing is lent", temperature.send_lent, 0)
    if member.active:
        raises(stretto.StreamError, "negative", temperature.send, -1, grid)
        raises(stretto.StreamError, "no field \"pressure\"", member.field, "pressure", (3, 4))
        raises(stretto.StreamError, "4x3 here, but 3x4 in the spec", member.field, "temperature", (4, 3))
        raises(stretto.StreamError, "int32 here, but float32", member.field, "temperature", (3, 4), "int32")
        raises(stretto.StreamError, "4x3 here, but -1x3 in the spec", member.field, "particles", (4, 3))
        raises(stretto.StreamError, "-1x4 here, but 3x4 in the spec", member.field, "temperature", (-1, 4))
        raises(stretto.StreamError, "from 0 to 40, not 41", particles.send, 0, numpy.zeros((41, 3)))
    raises(ValueError, "was declared as (-1, 3), but this array is (5, 4)", particles.send, 0, numpy.zeros((5, 4)))
    raises(TypeError, "the extent is told where it was declared as -1, and only there", particles.lend)
    raises(TypeError, "the extent is told where it was declared as -1, and only there", temperature.lend, 3)


def particles_of(index, step):
    return index + step + numpy.arange(step * 7 % 41 * 3).reshape(-1, 3) / 16


def send_particles(member, field, step, array):
    """By turns: lent, as an array, by name, as a list."""
    if step % 4 == 0:
        lent = field.lend(len(array) // 2)
        field.lend(len(array))[...] = array
        assert len(lent) == len(array) or not lent.flags.writeable
        field.send_lent(step)
    elif step % 4 == 1:
        field.send(step, array)
    elif step % 4 == 2:
        member.send(step, particles=array)
    else:
        field.send(step, array.tolist() if len(array) else array)


def all_steps(member, steps):
    """By turns: a contiguous array, a list, ones that are not contiguous, another byte order, lent memory, by name."""
    index = member.index or 0
    temperature = member.field("temperature", (3, 4))
    flux = member.field("flux", 2, numpy.float64)
    particles = member.field("particles", (-1, 3))
    wrong_calls(member, temperature, particles)
    wide = numpy.zeros((3, 9))
    for step in range(steps):
        u = 100 * index + step + numpy.arange(12.0).reshape(3, 4) / 16
        f = [index + 0.1, step + 0.1]
        send_particles(member, particles, step, particles_of(index, step))
        kind = step % 7
        if kind == 0:
            temperature.send(numpy.int32(step), u)
        elif kind == 1:
            temperature.send(step, u.tolist())
        elif kind == 2:
            wide[:, 1::2] = u
            temperature.send(step, wide[:, 1::2])
        elif kind == 3:
            temperature.send(step, numpy.asfortranarray(u))
        elif kind == 4:
            temperature.send(step, u.astype(">f8"))
        elif kind == 5:
            lent = temperature.lend()
            assert lent is temperature.lend() and lent.shape == (3, 4) and lent.dtype == float
            lent[:] = u
            temperature.send_lent(step)
            raises(ValueError, "read-only", lent.__setitem__, 0, 1)
            lent = flux.lend()
            lent[:] = f
            flux.send_lent(step)
            u.fill(0)
            continue
        else:
            member.send(step, temperature=u, flux=f)
            continue
        u.fill(0)
        flux.send(step, numpy.array(f))


def as_the_spec_has_it(member, steps):
    """Float32 as it travels; the fields are declared by their first arrays."""
    assert member.describe("temperature") == (numpy.float32, (3, 4)), member.describe("temperature")
    assert member.describe("particles") == (numpy.float32, (-1, 3)), member.describe("particles")
    assert member.params == {"p": member.index * 1.5, "q": -member.index, "name": "x"}
    for step in range(steps):
        u = 100 * member.index + step + numpy.arange(12, dtype=numpy.float32).reshape(3, 4) / 16
        member.send(step, particles=particles_of(member.index, step).astype(numpy.float32))
        if step % 2:
            member.send(step, temperature=u, flux=numpy.array([member.index + 0.1, step + 0.1]))
        else:
            field = member.field("temperature", (3, 4), numpy.float32)
            field.lend()[...] = u
            field.send_lent(step)
            member.send(step, flux=[member.index + 0.1, step + 0.1])


def main():
    if sys.argv[1] == "full":
        signal.signal(signal.SIGUSR1, lambda *_: os.close(os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY)))
        print(os.getpid(), flush=True)
        with stretto.open() as member:
            for step in range(10**9):
                member.send(step, temperature=numpy.zeros((3, 4)), flux=numpy.zeros(2), particles=numpy.zeros((step % 4, 3)))
    if sys.argv[1] == "fail":
        with stretto.open() as member:
            member.send(0, temperature=numpy.zeros((3, 4)), flux=[0, 0])
            raise ArithmeticError("the solver diverged")
    steps = int(sys.argv[1])
    with stretto.open() as member:
        if member.active and member.index % 2:
            as_the_spec_has_it(member, steps)
        else:
            all_steps(member, steps)
        print("active" if member.active else "idle", member.time_left())
    raises(stretto.StreamError, "closed", member.field, "temperature", (3, 4))
    member.close()


main()
