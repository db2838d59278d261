"""A rank that is killed, and whose next process goes on with its memory: survive-rank.py DEATHS [EVERY]

Its model is the list of samples that it has learnt from. DEATHS has an item for each process of the ranks, such as
0:6:killed,1:10:raises: the rank that ends, after which batch of its model, and how. The ranks save a checkpoint at every fourth batch
(EVERY), once all of them have come so far. A rank leaves what it had learnt when it was killed in died.json.
"""

import json
import os
import signal
import sys
import time

import stretto.train


class Model:
    def __init__(self, rx):
        self.learnt, self.batches = [], 0
        if rx.resume is not None:
            with open(rx.resume, encoding="ascii") as file:
                state = json.load(file)
            self.learnt, self.batches = state["learnt"], state["batches"]
        assert rx.stats()["drawn"] == len(set(map(tuple, self.learnt))), (rx.stats(), len(self.learnt))

    def learn(self, batch):
        self.learnt += zip(batch.member.tolist(), batch.step.tolist())
        self.batches += 1

    def save(self, path):
        with open(path, "w", encoding="ascii") as file:
            json.dump({"learnt": self.learnt, "batches": self.batches}, file)


def wait_until(holds):
    while not holds():
        time.sleep(0.02)


def is_listed(name):
    path = os.path.join(os.path.dirname(os.environ["STRETTO_TRAINING_DIR"]), "checkpoints", "checkpoints.json")
    try:
        with open(path, encoding="ascii") as file:
            return name in [entry["name"] for entry in json.load(file)["checkpoints"]]
    except FileNotFoundError:
        return False


def told(rank):
    """What the rank has told so far: nothing before its first report."""
    try:
        with open(os.path.join(os.environ["STRETTO_TRAINING_DIR"], "status-rank%d.json" % rank), encoding="ascii") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"drawn": 0}


def main():
    deaths = [item.split(":") for item in sys.argv[1].split(",")]
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    restart = int(os.environ.get("STRETTO_RESTART", "0"))
    with stretto.train.open() as rx:
        rank, last, how = deaths[restart] if rx.generation == 1 and restart < len(deaths) else (-1, -1, "")
        model = Model(rx)
        if restart and os.path.exists("finalized"):
            with open("finalized", encoding="ascii") as file:
                assert rx.stats()["finalized"] >= int(file.read()), rx.stats()
        for batch in rx.batches():
            model.learn(batch)
            rx.metric("loss", model.batches, 1 / model.batches)
            if model.batches % every == 0:
                rx.checkpoint(model.save, model.batches)
                name = "g%d%s-s%d" % (rx.generation, ".%d" % restart if restart else "", model.batches)
                wait_until(lambda: is_listed(name))
            if rx.rank == int(rank) and model.batches == int(last):
                with open("finalized", "w", encoding="ascii") as file:
                    file.write("%d" % rx.stats()["finalized"])
                model.save("died.json")
                wait_until(lambda: model.batches * rx.batch_size <= told(rx.rank)["drawn"])
                if how == "raises":
                    raise RuntimeError("the loss is not finite")
                os.kill(os.getpid(), signal.SIGKILL)
        model.save("learnt.json")
        rx.done()


main()
