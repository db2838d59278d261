"""Diffusion of a hot rectangle, with NumPy."""

import sys

import numpy
import stretto

NX, NY, STEPS = 32, 24, 40


def main():
    d = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
    u = numpy.zeros((NY + 2, NX + 2))  # the rim stays 0
    u[15:20, 5:11] = 100
    inner = u[1:-1, 1:-1]
    with stretto.open() as member:
        # float64 here is narrowed to the float32 of the spec on the way
        temperature = member.field("temperature", (NY, NX), numpy.float64)
        profile = member.field("profile", NX, numpy.float32)
        for step in range(STEPS):
            inner += d * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * inner)
            temperature.send(step, inner)

            # float32 in the spec, too: it is computed in the send buffer, and never copied
            inner.mean(axis=0, out=profile.lend())
            profile.send_lent(step)


main()
