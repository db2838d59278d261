"""The surrogate of the heat equation: what goes in, what comes out, and how fast it learns.

Pure parts, without a stream and without side effects.
"""

import torch


class Scale:
    """Scales temperatures between `low` and `high` kelvin, and time steps from 0 to `steps`, to and from [-1, 1]."""

    def __init__(self, low, high, steps):
        if not low < high or steps < 1:
            raise ValueError(f"no scale from {low} to {high} K over {steps} steps")
        self.low, self.high, self.steps = float(low), float(high), int(steps)
        self.middle, self.half = (self.low + self.high) / 2, (self.high - self.low) / 2

    def inputs(self, params, step):
        """Return params (B, P) in kelvin and step (B,), scaled, as one float32 tensor (B, P + 1)."""
        temperatures = (params - self.middle) / self.half
        time = step.unsqueeze(1).to(temperatures.dtype) * (2 / self.steps) - 1
        return torch.cat([temperatures, time], dim=1).float()

    def fields(self, kelvin):
        return (kelvin - self.middle) / self.half

    def kelvin(self, scaled):
        return scaled * self.half + self.middle

    @property
    def squared_kelvin(self):
        """The factor that turns a mean squared error of scaled fields into one in K²."""
        return self.half**2


def make_model(parameters, hidden, shape):
    """A fully connected network from the parameters and the time to the whole field, two hidden layers."""
    points = 1
    for extent in shape:
        points *= extent
    return torch.nn.Sequential(
        torch.nn.Linear(parameters + 1, hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(hidden, points),
        torch.nn.Unflatten(1, tuple(shape)),
    )


class Averaged(torch.nn.Module):
    """A network, and a number of each rank's: DistributedDataParallel averages it with the gradients, as number.grad.

    So all ranks can follow the same number, and their networks stay the same, without another collective call.
    """

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.number = torch.nn.Parameter(torch.zeros(()))

    def forward(self, inputs, number):
        return self.network(inputs), self.number * number


class GlobalBatch:
    """The samples that all ranks learn from in a step: as many as at the beginning, also when there are more ranks.

    A batch of more ranks is learnt in several parts, each a step of its own. Fewer ranks have less than that in a
    batch; then the learning rate follows, by the square root, as suits Adam. `batches` counts steps.
    """

    def __init__(self, ranks, batch):
        self.now, self.batch = ranks * batch, batch
        self.samples, self.batches = self.now, 0

    @property
    def parts(self):
        return max(1, min(self.batch, round(self.now / self.samples)))

    @property
    def factor(self):
        """The factor of the learning rate."""
        return (self.now / self.parts / self.samples) ** 0.5

    def split(self, batch):
        """Return a batch's parts, dicts of tensors. If the last batch has fewer samples than parts, some come twice."""
        count = len(batch["step"])
        places = torch.arange(max(count, self.parts)) % count
        return [
            {name: tensor[some] for name, tensor in batch.items()} for some in torch.tensor_split(places, self.parts)
        ]

    def state_dict(self):
        return {"samples": self.samples, "batches": self.batches}

    def load_state_dict(self, state):
        self.samples, self.batches = state["samples"], state["batches"]


def learning_rate(initial, progress, halvings):
    """Return `initial`, halved `halvings` times at equal distances as `progress` goes from 0 to 1.

    Progress is the part of the ensemble that has been drawn. A count of batches would be no measure: how many there
    are depends on how often the Reservoir repeats a sample, and so on the speed of the machine.
    """
    done = int(min(max(progress, 0.0), 1.0) * (halvings + 1))
    return initial * 0.5 ** min(done, halvings)
