"""The network, and one epoch of its training. Pure parts: no files, no clock, nothing of stretto."""

import torch

CELLS = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM, "rnn": torch.nn.RNN}


class Predictor(torch.nn.Module):
    """A recurrent layer, and a linear one on its last state. Maps windows (B, length, 1) to the next values (B, 1)."""

    def __init__(self, cell, hidden):
        super().__init__()
        self.recurrent = CELLS[cell](1, hidden, batch_first=True)
        self.output = torch.nn.Linear(hidden, 1)

    def forward(self, windows):
        states, _ = self.recurrent(windows)
        return self.output(states[:, -1])


class Training:
    """A network with its optimiser, its data and the order in which it sees them: all that an epoch depends on.

    restore() with the result of state() brings another one, made with the same arguments, to the same point.
    """

    def __init__(self, cell, hidden, lr, batch, seed, inputs, wanted, held_out=0.2):
        torch.manual_seed(seed)
        self.model = Predictor(cell, hidden)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.order = torch.Generator().manual_seed(seed)
        self.batch = batch
        # the end of the series is held out: windows between training windows would share values with those
        split = max(1, int(len(inputs) * (1 - held_out)))
        self.inputs, self.wanted = torch.from_numpy(inputs[:split]), torch.from_numpy(wanted[:split])
        self.unseen, self.unseen_wanted = torch.from_numpy(inputs[split:]), torch.from_numpy(wanted[split:])

    def epoch(self):
        """Train on all training windows once. Returns the mean squared errors (training, held out)."""
        self.model.train()
        total = 0.0
        for chosen in torch.randperm(len(self.inputs), generator=self.order).split(self.batch):
            loss = torch.nn.functional.mse_loss(self.model(self.inputs[chosen]), self.wanted[chosen])
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
            total += float(loss.detach()) * len(chosen)
        self.model.eval()
        with torch.no_grad():
            validation = float(torch.nn.functional.mse_loss(self.model(self.unseen), self.unseen_wanted))
        return total / len(self.inputs), validation

    def state(self):
        return {"model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
                "order": self.order.get_state()}

    def restore(self, state):
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.order.set_state(state["order"])
