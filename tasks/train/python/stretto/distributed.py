"""One model trained by all ranks of a training: PyTorch's process group, found through the run directory.

    with stretto.train.open() as rx, stretto.distributed.process_group(rx):
        model = torch.nn.parallel.DistributedDataParallel(model)
        with model.join():
            for batch in loader: ...
        rx.done()

No launcher, address or port has to be given: the ranks meet in a file of their training's directory, which only its
owner can read. The number of ranks that have really met is checked before anything is trained: with a launcher or an
MPI that does not fit, each process would easily be a world of its own, and train alone with exit status 0.
"""

import contextlib
import datetime
import json
import logging
import os
import re
import socket
import time

import torch
import torch.distributed


def _name(device):
    """Return the name of this process for messages, its host and its number, and the GPU that it uses."""
    name = {"host": socket.gethostname(), "pid": os.getpid()}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        # PyTorch before 2.4 does not tell which GPU it is; then ranks are taken to have one each
        name["gpu"] = str(getattr(properties, "uuid", "")) or None
    return name


def _backend(device, names):
    """Return the backend for gradients on that device: NCCL wants a GPU for each rank, and gloo does without."""
    if device.type != "cuda":
        return "gloo"
    gpus = [(name["host"], name["gpu"]) for name in names if name.get("gpu")]
    if len(set(gpus)) == len(gpus):
        return "nccl"
    logging.getLogger("stretto").warning("ranks share a GPU, which NCCL refuses: gradients go by gloo, through the memory "
                                         "of the host, which is slower")
    return "gloo"


def _meet(store, rx, device):
    """Wait for all ranks and return their names. Raises RuntimeError where one is missing or comes twice."""
    mine = _name(device)
    if store.add("claims-%d" % rx.rank, 1) != 1:
        other = json.loads(store.get("rank-%d" % rx.rank))
        raise RuntimeError("two processes are rank %d: %s on %s, and %s on %s. A training's command is started once "
                           "for each rank by stretto itself, so it must not start processes by mpiexec, srun or "
                           "torchrun"
                           % (rx.rank, other["pid"], other["host"], mine["pid"], mine["host"]))
    store.set("rank-%d" % rx.rank, json.dumps(mine))
    names = []
    for rank in range(rx.ranks):
        try:
            names.append(json.loads(store.get("rank-%d" % rank)))
        except RuntimeError as error:
            raise RuntimeError("rank %d of %d did not come: %s" % (rank, rx.ranks, error)) from None
    return names


def _count(device):
    """Return how many processes take part in a sum over the group."""
    ones = torch.ones(1, device=device)
    torch.distributed.all_reduce(ones)
    return int(ones.item())


def _failure_after():
    """Return the failure_after of the spec's training."""
    return datetime.timedelta(milliseconds=int(os.environ.get("STRETTO_FAILURE_AFTER_MS", "60000")))


# a rank that keeps all others waiting for so many times failure_after is taken for hung, as by stretto itself
_HUNG_TIMES = 15
# starting PyTorch, and whatever ranks do at the start, may take this long however short failure_after is
_LEAST = datetime.timedelta(minutes=5)

_OF_A_PEER = re.compile("gloo|NCCL|ProcessGroup|Connection (closed|reset) by peer|[Tt]imeout waiting for key")


@contextlib.contextmanager
def _blaming_the_first(store):
    """Have a rank that fails because another one has failed end after that one.

    A rank that dies, or raises, breaks the collective calls of all others at once. stretto names the rank that it sees
    ending first, and ends the others, so these wait for that. If it does not come, they end after failure_after.
    """
    try:
        yield
    except Exception as error:
        first = False
        with contextlib.suppress(Exception):
            first = store.add("failed", 1) == 1
        if not first or _OF_A_PEER.search(str(error)):
            logging.getLogger("stretto").warning("this rank fails, because another one has failed: %s", error)
            time.sleep(_failure_after().total_seconds())
        raise


class _Agreement:
    """Makes rank 0 decide for all ranks when a checkpoint is due.

    Ranks learn in step, so all of them ask equally often. Rank 0 answers only some of their questions, and tells each
    time which is the next, so that a file is read about twice a second and not with every batch.
    """

    INTERVAL = 0.5  # seconds between answers
    MAX = 1000      # questions between answers
    PAUSE = 1       # second for which a rank draws nothing, so that the others notice that it waits

    def __init__(self, store, rank, ranks):
        self._store, self._rank, self._ranks = store, rank, ranks
        self._asked = self._answered = self._next = 0
        self._skip, self._since = 1, None

    def of(self, due):
        """Return the group's answer to a question that this rank alone would answer by `due`."""
        number = self._asked
        self._asked += 1
        if number < self._next:
            return 0
        if self._rank == 0:
            self._skip = self._pace(number)
            self._store.set("due-%d" % number, "%d %d" % (due, self._skip))
        else:
            due, self._skip = map(int, self._store.get("due-%d" % number).split())
        self._next = number + self._skip
        return due

    def _pace(self, number):
        now, skip = time.monotonic(), 1
        if self._since is not None:
            each = (now - self._since) / (number - self._answered)
            skip = max(1, min(int(self.INTERVAL / max(each, 1e-9)), 2 * self._skip, self.MAX))
        self._answered, self._since = number, now
        return skip

    def all_wait(self, batches):
        """Return whether all ranks wait for samples after so many batches; then none draws any more.

        A rank that is further may wait in a collective call for this one, so this one goes on after a while. Whether all
        have waited at one time is decided by a counter that the ranks change one at a time.
        """
        counter = "waiting-%d" % batches
        if self._store.add(counter, 1) == self._ranks:
            self._store.add(counter + "-all", 1)
            return True
        until = time.monotonic() + self.PAUSE
        while time.monotonic() < until:
            if self._store.add(counter + "-all", 0) > 0:
                return True
            time.sleep(self.PAUSE / 20)
        return self._store.add(counter, -1) == self._ranks - 1  # the last one came just now

    def end(self):
        """Rank 0 has no more batches: nothing will be due on ranks that still have some."""
        if self._rank == 0:
            self._store.set("due-%d" % self._next, "0 %d" % (1 << 60))


@contextlib.contextmanager
def process_group(rx, device="cpu", meet_within=datetime.timedelta(minutes=10), timeout=None):
    """Make PyTorch's default process group of all ranks of the training whose receiver is `rx`; with one rank, none.

    `device` is the torch.device of the gradients: NCCL is used for CUDA where each rank has a GPU of its own, gloo
    otherwise. Raises RuntimeError where not all ranks come within `meet_within` (timedelta), where one comes twice, or
    where the group has another size.
    `timeout` (timedelta) is how long one rank may keep the others waiting in a collective call, such as rank 0 while it
    validates: by default 15 times the training's failure_after, and at least 5 minutes.

    Where a rank fails, its exception ends it at once; the others, whose collective calls fail because of that, are ended
    by stretto, which names the first.
    """
    if rx.ranks == 1:
        yield
        return
    if timeout is None:
        timeout = max(_HUNG_TIMES * _failure_after(), _LEAST)
    device = torch.device(device)
    path = os.path.join(os.environ["STRETTO_TRAINING_DIR"], "ranks-of-%s.%s"
                        % (os.environ.get("STRETTO_JOB", "job"), os.environ.get("STRETTO_RESTART", "0")))
    # -1: users are not counted, so the file stays until the run directory is removed
    store = torch.distributed.FileStore(path, -1)
    store.set_timeout(meet_within)
    names = _meet(store, rx, device)
    if all(name["host"] == names[0]["host"] for name in names):
        # on one machine the ranks need no network, and its name may have no address
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group(_backend(device, names), store=torch.distributed.PrefixStore("group", store),
                                         rank=rx.rank, world_size=rx.ranks, timeout=timeout)
    decisions = torch.distributed.FileStore(path + "-checkpoints", -1)
    decisions.set_timeout(max(meet_within, timeout))
    rx._agreement = _Agreement(decisions, rx.rank, rx.ranks)  # pylint: disable=protected-access
    try:
        met = _count(device)
        if met != rx.ranks or torch.distributed.get_world_size() != rx.ranks:
            raise RuntimeError("the process group has %d of %d ranks" % (met, rx.ranks))
        with _blaming_the_first(store):
            yield
    finally:
        rx._agreement = None  # pylint: disable=protected-access
        torch.distributed.destroy_process_group()
