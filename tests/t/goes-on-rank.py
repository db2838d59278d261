"""A rank whose model is the list of samples that it has learnt from: goes-on-rank.py killed|warned|resized|disturbed STEPS

Checkpoints have that list, and learnt.json has it at the end: what the model that is left has learnt from. "killed":
the first two generations save one at every fourth batch, and are killed two batches after the second one, or the
fourth. "warned": they get the signal by which the runner warns them of the end of their time. "resized": a
checkpoint is saved when one is due, also while the rank waits; rank 0 takes over what all ranks had learnt. "disturbed":
the same, and a rank that is alone saves one at every fourth batch, too. STEPS is how many each member sends.
"""

import glob
import json
import os
import signal
import sys
import time

import stretto.train


def wait_until(holds):
    while not holds():
        time.sleep(0.02)


class Model:
    def __init__(self, rx):
        self.rx, self.learnt, self.batches = rx, [], 0
        if rx.resume is None:
            return
        for path in glob.glob(os.path.join(os.path.dirname(rx.resume), "state-rank*")):
            with open(path, encoding="ascii") as file:
                state = json.load(file)
            self.batches = state["batches"]
            if rx.rank == 0:
                self.learnt += state["learnt"]
        if rx.ranks == 1:
            assert rx.stats()["drawn"] == len(self.learnt), (rx.stats(), len(self.learnt))

    def learn(self, batch):
        self.learnt += zip(batch.member.tolist(), batch.step.tolist())
        self.batches += 1

    def save(self, path):
        with open(path, "w", encoding="ascii") as file:
            json.dump({"learnt": self.learnt, "batches": self.batches}, file)


def is_listed(name):
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "checkpoints", "checkpoints.json")
    try:
        with open(path, encoding="ascii") as file:
            return name in [entry["name"] for entry in json.load(file)["checkpoints"]]
    except FileNotFoundError:
        return False


def die(rx, model, steps):
    """Save at every fourth batch, when the members whose steps were all drawn have told their end; then be killed."""
    if model.batches % 4 == 0:
        whole = model.batches * rx.batch_size // steps
        wait_until(lambda: rx.stats()["finalized"] >= whole)
        rx.checkpoint(model.save, model.batches)
    if model.batches == 4 * rx.generation + 2:
        wait_until(lambda: is_listed("g%d-s%d" % (rx.generation, 4 * rx.generation)))
        os.kill(os.getpid(), signal.SIGKILL)


def run_out_of_time(rx, model):
    if rx.generation <= 2 and model.batches == 5 * rx.generation:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert rx.checkpoint_due() == stretto.train.LAST
        rx.checkpoint(model.save, model.batches)


def save_if_due(rx, model):
    """Save the checkpoint of the generation's end; its step is the same on all ranks."""
    if rx.checkpoint_due():
        rx.checkpoint(model.save, 100000 * rx.generation + 99999)


def main():
    mode, steps = sys.argv[1], int(sys.argv[2])
    with stretto.train.open() as rx:
        model = Model(rx)
        if mode in ("resized", "disturbed"):
            rx.on_wait(lambda: save_if_due(rx, model))
        for batch in rx.batches():
            model.learn(batch)
            rx.metric("loss", model.batches, 1 / model.batches)
            if mode in ("resized", "disturbed"):
                save_if_due(rx, model)
                if mode == "disturbed" and rx.ranks == 1 and model.batches % 4 == 0 and not rx.unfinished:
                    rx.checkpoint(model.save, 100000 * rx.generation + model.batches)
            elif mode == "warned":
                run_out_of_time(rx, model)
            elif rx.generation <= 2:
                die(rx, model, steps)
        assert mode == "disturbed" or rx.unfinished == (mode != "killed" and rx.generation <= 2)
        model.save("learnt.json")
        rx.done()


main()
