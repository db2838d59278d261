"""A rank whose model is the list of samples that it has learnt from: goes-on-rank.py killed|behind|warned|resized|disturbed|on STEPS [FAIL]

Checkpoints have that list, and learnt.json has it at the end: what the model that is left has learnt from. "killed":
the first two generations save one at every fourth batch, and are killed two batches after the second one, or the
fourth. "behind": a thread writes them while the rank learns on; the first generation is killed while it does, and the
second one's first cannot be written. "warned": they get the signal by which the runner warns them of the end of their
time. "resized": a checkpoint is saved when one is due, also while the rank waits; rank 0 takes over what all ranks had
learnt. "disturbed": the same, and a rank that is alone saves one at every fourth batch, too. "on": a rank that is
alone saves one at every fourth batch, and raises after FAIL batches, if that is given, or ends after ENOUGH, a variable.
STEPS is how many each member sends.
"""

import errno
import glob
import json
import os
import signal
import sys
import threading
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


    def copy(self, path, at=lambda half: None):
        """Copy the state; what is returned writes the copy, and calls at(how much of it is written)."""
        state = json.dumps({"learnt": self.learnt, "batches": self.batches})

        def write():
            with open(path, "w", encoding="ascii") as file:
                file.write(state[:100])
                file.flush()
                at(file)
                file.write(state[100:])

        return write


def is_listed(name):
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "checkpoints", "checkpoints.json")
    try:
        with open(path, encoding="ascii") as file:
            return name in [entry["name"] for entry in json.load(file)["checkpoints"]]
    except FileNotFoundError:
        return False


def save_fourth(rx, model, steps):
    """Save at every fourth batch, when the members whose steps were all drawn have told their end."""
    if model.batches % 4 == 0:
        whole = model.batches * rx.batch_size // steps
        wait_until(lambda: rx.stats()["finalized"] >= whole)
        rx.checkpoint(model.save, model.batches)


def go_on(rx, model, steps, fail):
    if rx.ranks == 1 and not rx.unfinished:
        save_fourth(rx, model, steps)
    if model.batches == fail:
        wait_until(lambda: any(is_listed("g%d-s%d" % (g + 1, fail // 4 * 4)) for g in range(rx.generation)))
        raise RuntimeError("the learning rate is too high")


def die(rx, model, steps):
    """Save at every fourth batch; then be killed."""
    save_fourth(rx, model, steps)
    if model.batches == 4 * rx.generation + 2:
        wait_until(lambda: is_listed("g%d-s%d" % (rx.generation, 4 * rx.generation)))
        os.kill(os.getpid(), signal.SIGKILL)


class Behind:
    """Saves at every fourth batch, in a thread that the rank does not wait for."""

    def __init__(self):
        self.half, self.go_on = threading.Event(), threading.Event()

    def at_half(self, _):
        self.half.set()
        self.go_on.wait()

    @staticmethod
    def no_space(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def step(self, rx, model):
        place = (rx.generation, model.batches)
        if model.batches % 4 == 0:
            at = self.no_space if place == (2, 8) else self.at_half if place in ((1, 8), (2, 12)) else lambda file: None
            whole = model.batches * rx.batch_size // int(sys.argv[2])
            wait_until(lambda: rx.stats()["finalized"] >= whole)
            rx.checkpoint(lambda path: model.copy(path, at), model.batches)
        if place == (1, 10):
            self.half.wait()
            assert not is_listed("g1-s8")
            os.kill(os.getpid(), signal.SIGKILL)
        if place == (2, 13):
            self.half.wait()
            self.go_on.set()
            wait_until(lambda: is_listed("g2-s12"))
            os.kill(os.getpid(), signal.SIGKILL)


def run_out_of_time(rx, model):
    if rx.generation <= 2 and model.batches == 5 * rx.generation:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert rx.checkpoint_due() == stretto.train.LAST
        rx.checkpoint(model.copy, model.batches)
        assert rx.unfinished


def save_if_due(rx, model):
    """Save the checkpoint of the generation's end; its step is the same on all ranks."""
    if rx.checkpoint_due():
        rx.checkpoint(model.save, 100000 * rx.generation + 99999)


def main():
    mode, steps = sys.argv[1], int(sys.argv[2])
    with stretto.train.open() as rx:
        model, behind = Model(rx), Behind()
        if mode in ("resized", "disturbed"):
            rx.on_wait(lambda: save_if_due(rx, model))
        for batch in rx.batches():
            model.learn(batch)
            rx.metric("loss", model.batches, 1 / model.batches)
            rx.report(batch.member, 10 * batch.member + 0.5)
            if mode in ("resized", "disturbed"):
                save_if_due(rx, model)
                if mode == "disturbed" and rx.ranks == 1 and model.batches % 4 == 0 and not rx.unfinished:
                    rx.checkpoint(model.save, 100000 * rx.generation + model.batches)
            elif mode == "behind":
                behind.step(rx, model)
            elif mode == "warned":
                run_out_of_time(rx, model)
            elif mode == "on":
                go_on(rx, model, steps, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
                if os.environ.get("ENOUGH") == str(model.batches):
                    break
            elif rx.generation <= 2:
                die(rx, model, steps)
        assert mode in ("disturbed", "on") or rx.unfinished == (mode not in ("killed", "behind") and rx.generation <= 2)
        model.save("learnt.json")
        rx.done()


main()
