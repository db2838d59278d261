"""stretto: training on the samples that an ensemble of simulations streams while it runs.

stretto.metric() and stretto.progress() report how far a member is, with or without a training (see stretto.metrics).
The simulation's end is here: stretto.open() gives a Member, which sends NumPy arrays (see stretto.member). The
training's end is in stretto.train, which gives batches as NumPy arrays, and in stretto.torch, which gives tensors.
"""

from stretto.metrics import metric, progress
from stretto.member import Field, Member, StreamError, open  # pylint: disable=redefined-builtin

__all__ = ["Field", "Member", "StreamError", "metric", "open", "progress"]
