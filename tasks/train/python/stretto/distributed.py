"""One model trained by all ranks of a training: PyTorch's process group, found through the run directory.

    with stretto.train.open() as rx, stretto.distributed.process_group(rx):
        model = torch.nn.parallel.DistributedDataParallel(model)
        with model.join():
            for batch in loader: ...
        rx.done()

No launcher, address or port has to be given: the ranks meet in a file of their training's directory, which only its
owner can read. The number of ranks that have really met is checked before anything is trained. With a launcher or an
MPI that does not fit, each process could be a world of its own, and train alone with exit status 0.
"""

import contextlib
import datetime
import json
import logging
import math
import os
import re
import socket
import sys
import threading
import time

import torch
import torch.distributed
import torch.distributed.algorithms.join


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
    logging.getLogger("stretto").warning(
        "ranks share a GPU, which NCCL refuses: gradients go by gloo, through the memory of the host, which is slower"
    )
    return "gloo"


def _store(path, patience):
    """Open a file in which the ranks find what others say, and wait so long for it."""
    # -1: users are not counted, so the file stays until the run directory is removed
    store = torch.distributed.FileStore(path, -1)
    store.set_timeout(patience)
    return store


def _meet(store, rx, device):
    """Wait for all ranks and return their names. Raises RuntimeError if one is missing or comes twice."""
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
def _blaming_the_first(store, agreement):
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
            agreement.blame()
            logging.getLogger("stretto").warning("this rank fails, because another one has failed: %s", error)
            time.sleep(_failure_after().total_seconds())
        raise


class _Agreement:
    """Makes all ranks decide the same, and serves those that have no more batches.

    Ranks learn in step, so all of them ask equally often whether a checkpoint is due. One of them, the first of which
    is rank 0, answers for all. It answers only some of their questions, and says each time which is the next. So a file
    is read about twice a second, and not with every batch. A rank that asks no more, and one that takes part in the
    batches of others in join(), leaves the next answer to the rank that asks first.

    A checkpoint is announced by the rank that begins it first. From then on a thread takes part for the ranks that have
    no more batches, whose program may wait for the others in join() or at the end of the process group.
    """

    INTERVAL = 0.5  # seconds between answers, and between looks of the thread
    MAX = 1000      # questions between answers
    PAUSE = 1       # second for which a rank draws nothing, so that the others notice that it waits

    def __init__(self, store, looks, rx):
        """Both stores are of one file: values are waited for in `store`, and not in `looks`."""
        self._store, self._looks = store, looks
        self._rx, self._rank, self._ranks = rx, rx.rank, rx.ranks
        self._asked = self._answered = self._next = 0
        self._skip, self._since = 1, None
        self._term, self._answers = 0, rx.rank == 0  # who answers: each has a term
        self._stopped = False
        self._begun, self._failed = 0, None  # checkpoints; the announcement of one that could not be saved
        self._news = 0
        self._left = {}                      # by rank: how many batches it had drawn, and how it has ended
        self._blamed, self._error = None, None
        self._blocked = self._stuck = None   # since when, and what was counted then
        #: Whether a rank takes no more samples, so that the others would wait in vain.
        self.enough = False
        self._lock = threading.RLock()       # of the questions and checkpoints of this rank
        self._hearing = threading.Lock()     # of the news
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="stretto-agreement", daemon=True)

    def start(self):
        """Start the thread, which close() ends."""
        self._thread.start()

    def of(self, due):
        """Return the group's answer to a question that this rank alone would answer by `due`."""
        with self._lock:
            if self._stopped:
                return 0
            number = self._asked
            self._asked += 1
            if number < self._next:
                return 0
            while True:
                key = "due-%d.%d" % (number, self._term)
                if self._answers:
                    self._skip = self._pace(number)
                    self._store.set(key, "%d %d" % (due, self._skip))
                    break
                answer = self._store.get(key).decode()
                if answer != "pass":
                    due, self._skip = map(int, answer.split())
                    break
                self._term += 1
                self._answers = self._store.add("term-%d" % self._term, 1) == 1
            self._next = number + self._skip
            return due

    def _pace(self, number):
        now, skip = time.monotonic(), 1
        if self._since is not None:
            each = (now - self._since) / max(number - self._answered, 1)
            skip = max(1, min(int(self.INTERVAL / max(each, 1e-9)), 2 * self._skip, self.MAX))
        self._answered, self._since = number, now
        return skip

    def _pass_on(self):
        """Leave the next answer to another rank."""
        if self._answers:
            self._answers = False
            self._store.set("due-%d.%d" % (self._next, self._term), "pass")

    def stop(self):
        """This rank has no more batches, or wants none: others answer, and the thread takes part in checkpoints."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            if self._rank == 0:
                self._store.add("rank-0-stopped", 1)
            self._pass_on()

    def all_wait(self, batches):
        """Return whether all ranks wait for samples after so many batches; then none draws any more.

        A rank that is further may wait in a collective call for this one, so this one goes on after a while. Whether
        all have waited at one time is decided by a counter that the ranks change one at a time.
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

    def begin(self, step, due):
        """Return the step of the next checkpoint, what is due, and who saves the model: the same on all ranks."""
        with self._lock:
            if self._failed is not None and self._failed[0] == step:
                announced, self._failed = self._failed, None
                return announced
            key = "checkpoint-%d" % self._begun
            if self._store.add(key + "-claims", 1) == 1:
                # A rank 0 that stops just now has the same model: it takes part in each step of the optimiser, or has
                # stopped before.
                leader = self._rank if self._store.add("rank-0-stopped", 0) else 0
                self._store.set(key, json.dumps([step, due, leader]))
            self._begun += 1
            self._failed = None
            return tuple(json.loads(self._store.get(key)))

    def begin_again(self):
        """This rank could not save the checkpoint that it has begun, and may try again."""
        with self._lock:
            self._failed = tuple(json.loads(self._store.get("checkpoint-%d" % (self._begun - 1))))

    def _look(self, key):
        """Return what a key has, or None."""
        try:
            return json.loads(self._looks.get(key))
        except RuntimeError:
            return None

    def take_part(self):
        """Take part in the checkpoints of others that are announced, and that this rank does not begin itself."""
        with self._lock:
            announced = self._look("checkpoint-%d" % self._begun)
            while announced is not None:
                self._begun += 1
                self._rx._take_part(*announced)  # pylint: disable=protected-access
                announced = self._look("checkpoint-%d" % self._begun)

    def _tell(self, **news):
        self._store.set("news-%d" % self._store.add("news", 1), json.dumps(news))

    def _hear(self):
        with self._hearing:
            news = self._look("news-%d" % (self._news + 1))
            while news is not None:
                self._news += 1
                if "left" in news:
                    self._left[news["left"]] = (news["batches"], news["how"])
                elif "blamed" in news:
                    self._blamed = news["why"] if news["blamed"] == self._rank else self._blamed
                else:
                    self.enough = True
                news = self._look("news-%d" % (self._news + 1))

    def blame(self):
        """Name the first rank that has left the group, if there is one, that this one cannot go on without it."""
        self._hear()
        for rank, (batches, how) in list(self._left.items())[:1]:
            self._tell(blamed=rank, why="rank %d ended %s, after %d batches, while rank %d went on: ranks have to end "
                       "together, or in model.join()" % (rank, how, batches, self._rank))

    def _look_for_stuck(self):
        """Find out that the program waits in a collective call for a rank that has left the group."""
        mine = self._rx._drawn  # pylint: disable=protected-access
        if self._stopped or not any(mine > batches for batches, _ in self._left.values()):
            return
        if self._stuck is None or self._stuck[1] != mine:
            self._stuck = (time.monotonic(), mine)
        elif time.monotonic() - self._stuck[0] > _failure_after().total_seconds():
            self._stuck = (math.inf, mine)
            self.blame()

    def _look_for_join(self):
        """This rank has left its loop, and is in join(). If its buffer is full, all members wait for it for ever."""
        if self._stopped or not _is_in_join() or not self._lock.acquire(blocking=False):
            self._blocked = None
            return
        try:
            if _is_in_join():  # still, and until the lock is free it does not ask
                self._pass_on()
                self.take_part()
        finally:
            self._lock.release()
        now, waited = time.monotonic(), self._rx.stats()["room_wait_seconds"]
        if self._blocked is None:
            self._blocked = (now, waited)
        limit = _failure_after().total_seconds()
        if now - self._blocked[0] > limit and waited - self._blocked[1] > limit / 2:
            logging.getLogger("stretto").warning(
                "rank %d has left its loop after %d batches, without rx.done(), and its buffer is full: no rank gets "
                "more samples", self._rank, self._rx._drawn)  # pylint: disable=protected-access
            self._tell(enough=self._rank)
            self.stop()

    def _watch(self):
        while not self._end.wait(self.INTERVAL):
            try:
                self._hear()
                self._look_for_join()
                self._look_for_stuck()
                if self._stopped:
                    self.take_part()
            except Exception as error:  # pylint: disable=broad-except
                self._error = error
                return

    def leave(self):
        """Leave the group, once all ranks do. Raises RuntimeError if another one cannot go on without this one."""
        self.stop()
        rx = self._rx
        self._tell(left=self._rank, batches=rx._drawn, how=rx._end)  # pylint: disable=protected-access
        while len(self._left) < self._ranks and self._blamed is None and self._error is None:
            rx._sign_of_life()  # pylint: disable=protected-access
            time.sleep(self.PAUSE / 20)
        self.close()
        if self._blamed is not None:
            raise RuntimeError(self._blamed)
        if self._error is not None:
            raise self._error
        self.take_part()

    def close(self):
        self._end.set()
        self._thread.join()


def _is_in_join():
    """Return whether the program has left the block of DistributedDataParallel's join(), and waits for the others."""
    code = torch.distributed.algorithms.join.Join.__exit__.__code__
    for frame in sys._current_frames().values():  # pylint: disable=protected-access
        while frame is not None:
            if frame.f_code is code:
                return True
            frame = frame.f_back
    return False


@contextlib.contextmanager
def process_group(rx, device="cpu", meet_within=datetime.timedelta(minutes=10), timeout=None):
    """Make PyTorch's default process group of all ranks of the training whose receiver is `rx`; with one rank, none.

    `device` is the torch.device of the gradients: NCCL is used for CUDA if each rank has a GPU of its own, gloo
    otherwise. Raises RuntimeError if not all ranks come within `meet_within` (timedelta), if one comes twice, or if the
    group has another size. `timeout` (timedelta) is how long one rank may keep the others waiting in a collective call,
    such as rank 0 while it validates. The default is 15 times the training's failure_after, and at least 5 minutes.

    If a rank fails, its exception ends it at once. The collective calls of the others then fail, and stretto ends them
    and names the first.

    The end of the block waits for all ranks, so that none ends while another one needs it. All have to leave their
    loops after the same number of batches, or in DistributedDataParallel's join(). A rank that leaves the block while
    another one goes on raises RuntimeError. A rank that has left its loop takes its part in the checkpoints of the
    others. One that sits in join() although there are more samples for it keeps all members waiting once its buffer is
    full: all ranks get no more samples then.
    """
    if rx.ranks == 1:
        yield
        return
    if timeout is None:
        timeout = max(_HUNG_TIMES * _failure_after(), _LEAST)
    device = torch.device(device)
    path = os.path.join(os.environ["STRETTO_TRAINING_DIR"], "ranks-of-%s.%s"
                        % (os.environ.get("STRETTO_JOB", "job"), os.environ.get("STRETTO_RESTART", "0")))
    store = _store(path, meet_within)
    names = _meet(store, rx, device)
    if all(name["host"] == names[0]["host"] for name in names):
        # on one machine the ranks need no network, and its name may have no address
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group(_backend(device, names), store=torch.distributed.PrefixStore("group", store),
                                         rank=rx.rank, world_size=rx.ranks, timeout=timeout)
    agreement = _Agreement(_store(path + "-agreement", max(meet_within, timeout)),
                           _store(path + "-agreement", datetime.timedelta(milliseconds=1)), rx)
    agreement.start()
    rx._agreement = agreement  # pylint: disable=protected-access
    try:
        met = _count(device)
        if met != rx.ranks or torch.distributed.get_world_size() != rx.ranks:
            raise RuntimeError("the process group has %d of %d ranks" % (met, rx.ranks))
        with _blaming_the_first(store, agreement):
            yield
        agreement.leave()
    finally:
        rx._agreement = None  # pylint: disable=protected-access
        agreement.close()
        torch.distributed.destroy_process_group()
