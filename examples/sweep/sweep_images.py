"""Makes images of the shape of CIFAR-10: ten classes of striped 32 × 32 pictures in three colours.

A class is one of five directions of stripes in one of two pairs of colours. Width and place of the stripes, brightness
and noise differ from picture to picture, so that a linear model learns little of it and a small convolutional network
most.
"""

import math

import torch

CLASSES, CHANNELS, SIDE = 10, 3, 32
DIRECTIONS = 5
COLOURS = torch.tensor([[[1.0, 0.3, -0.6], [-0.4, 0.2, 0.7]], [[-0.5, 0.8, 0.1], [0.6, -0.7, 0.3]]])


def images(count, seed, noise=0.6):
    """Return `count` images, float32 [count, 3, 32, 32], and their classes, int64 [count], made from the seed."""
    source = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand(count, 1, 1, generator=source)

    classes = torch.randint(CLASSES, (count,), generator=source)
    angle = (classes % DIRECTIONS).float()[:, None, None] * math.pi / DIRECTIONS + uniform(-0.1, 0.1)
    across, down = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="xy")
    phase = 2 * math.pi * (across * angle.cos() + down * angle.sin()) / uniform(5, 12) + uniform(0, 2 * math.pi)
    stripe = 0.5 + 0.5 * phase.sin()
    pair = COLOURS[classes // DIRECTIONS]
    picture = stripe[:, None] * pair[:, 0, :, None, None] + (1 - stripe)[:, None] * pair[:, 1, :, None, None]
    picture = picture * uniform(0.6, 1.4)[:, None]
    return picture + noise * torch.randn(picture.shape, generator=source), classes
