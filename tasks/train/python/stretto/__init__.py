"""stretto: training on the samples that an ensemble of simulations streams while it runs.

stretto.train gives batches as NumPy arrays, stretto.torch as tensors.
"""
