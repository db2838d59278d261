"""The data of the recurrent-network ensemble: a chaotic series, the same for every training.

It is the solution of the Mackey–Glass equation, dx/dt = 0.2 x(t - tau) / (1 + x(t - tau)^10) - 0.1 x(t), with
tau = 17, where it is chaotic: a common benchmark for networks that predict series. It is integrated by the classical
Runge–Kutta method with a step of 0.1 and sampled once in a time unit, after the first 500, in which it reaches the
attractor.
"""

import numpy

STEP = 0.1
STEPS_A_SAMPLE = 10
SETTLE = 500
SAMPLES = 2000


def mackey_glass(samples, tau=17.0, start=1.2):
    """Return `samples` values, one for each time unit: float64 (samples,), between about 0.2 and 1.4."""
    delay = round(tau / STEP)
    total = (SETTLE + samples) * STEPS_A_SAMPLE
    x = numpy.full(delay + total + 1, start)

    def slope(now, then):
        return 0.2 * then / (1.0 + then**10) - 0.1 * now

    for n in range(delay, delay + total):
        # the delayed value at the step's beginning, middle and end
        first, last = x[n - delay], x[n - delay + 1]
        middle = 0.5 * (first + last)
        k1 = slope(x[n], first)
        k2 = slope(x[n] + 0.5 * STEP * k1, middle)
        k3 = slope(x[n] + 0.5 * STEP * k2, middle)
        k4 = slope(x[n] + STEP * k3, last)
        x[n + 1] = x[n] + STEP * (k1 + 2 * k2 + 2 * k3 + k4) / 6
    return x[delay + SETTLE * STEPS_A_SAMPLE :: STEPS_A_SAMPLE][:samples]


def windows(series, length):
    """Return inputs (N, length, 1) and the value that follows each (N, 1), float32, of the series scaled to mean 0 and
    variance 1."""
    if len(series) <= length:
        raise ValueError(f"a series of {len(series)} values has no window of {length} with a value after it")
    scaled = ((series - series.mean()) / series.std()).astype(numpy.float32)
    inputs = numpy.lib.stride_tricks.sliding_window_view(scaled[:-1], length)
    return numpy.ascontiguousarray(inputs)[:, :, None], scaled[length:, None]
