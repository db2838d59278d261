"""The samples that a training has drawn: a count of its own, beside the one that the receiver keeps."""

import json
import os

import numpy
import torch


class Books:
    def __init__(self):
        self.drawn = numpy.zeros((0, 0), dtype=bool)  # the number of draws, by member and step
        self.batches = self.samples = self.unique = 0

    def enter(self, member, step):
        """Count one batch, given its samples' members and steps as integer arrays."""
        if len(member) == 0:
            return
        if min(member.min(), step.min()) < 0:
            raise ValueError("a sample has a negative member or step")
        self._make_room(int(member.max()) + 1, int(step.max()) + 1)
        places = numpy.unique(member * self.drawn.shape[1] + step)
        flat = self.drawn.reshape(-1)
        self.unique += len(places) - int(flat[places].sum())
        flat[places] = True
        self.batches += 1
        self.samples += len(member)

    def _make_room(self, members, steps):
        have_members, have_steps = self.drawn.shape
        if members <= have_members and steps <= have_steps:
            return
        shape = (have_members if members <= have_members else max(members, 2 * have_members),
                 have_steps if steps <= have_steps else max(steps, 2 * have_steps))
        larger = numpy.zeros(shape, dtype=bool)
        larger[:have_members, :have_steps] = self.drawn
        self.drawn = larger

    def state_dict(self):
        return {"drawn": torch.from_numpy(self.drawn), "batches": self.batches, "samples": self.samples,
                "unique": self.unique}

    def load_state_dict(self, state):
        self.drawn = state["drawn"].numpy()
        self.batches, self.samples, self.unique = state["batches"], state["samples"], state["unique"]

    def load_state_dicts(self, states):
        """Go on with the books of several ranks, or of none: there were more or fewer before."""
        self.__init__()
        for state in states:
            drawn = state["drawn"].numpy()
            self._make_room(*drawn.shape)
            self.drawn[: drawn.shape[0], : drawn.shape[1]] |= drawn
            self.batches += state["batches"]
            self.samples += state["samples"]
        self.unique = int(self.drawn.sum())

    def summary(self):
        return {
            "unique_drawn": int(self.drawn.sum()),
            "batches": self.batches,
            "samples": self.samples,
            "members": int(self.drawn.any(axis=1).sum()),
        }

    def save(self, path):
        with open(path + ".part", "w", encoding="utf-8") as file:
            json.dump(self.summary(), file)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".part", path)
