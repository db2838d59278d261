"""One model trained by all ranks of a training: PyTorch's process group, found through the run directory.

    with stretto.train.open() as rx, stretto.distributed.process_group(rx):
        model = torch.nn.parallel.DistributedDataParallel(model)
        with model.join():
            for batch in loader: ...
        rx.done()

No launcher, address or port has to be given: the ranks meet in a file of their training's directory, which only its
owner can read. How many ranks have really met is checked before anything is trained: with a launcher or an MPI that does not
fit, each process is easily a world of its own, and every one of them ends with exit status 0.
"""

import contextlib
import datetime
import json
import os
import socket

import torch
import torch.distributed


def _name():
    """This process, as told to who looks for it."""
    return {"host": socket.gethostname(), "pid": os.getpid()}


def _meet(store, rx):
    """Each rank's name, once all are here; RuntimeError where a rank is missing, or is there twice."""
    mine = _name()
    if store.add("claims-%d" % rx.rank, 1) != 1:
        other = json.loads(store.get("rank-%d" % rx.rank))
        raise RuntimeError("two processes are rank %d: %s on %s, and %s on %s. A training's command is started once for "
                           "each rank by stretto itself, so it must not start processes by mpiexec, srun or torchrun"
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
    """How many processes take part in a sum over the group."""
    ones = torch.ones(1, device=device)
    torch.distributed.all_reduce(ones)
    return int(ones.item())


@contextlib.contextmanager
def process_group(rx, device="cpu", meet_within=datetime.timedelta(minutes=10),
                  timeout=datetime.timedelta(minutes=30)):
    """PyTorch's default process group over the ranks of the training that `rx` is an end of; with one rank, none.

    `device` is the torch.device that gradients lie on: NCCL is used for CUDA, gloo otherwise. RuntimeError where not all
    ranks come within `meet_within` (timedelta), where one is there twice, or where the group is of another size. `timeout`
    (timedelta) is how long one rank may keep the others waiting in a collective call, such as rank 0 while it validates.
    """
    if rx.ranks == 1:
        yield
        return
    device = torch.device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    path = os.path.join(os.environ["STRETTO_TRAINING_DIR"], "ranks-of-%s" % os.environ.get("STRETTO_JOB", "job"))
    store = torch.distributed.FileStore(path, -1)  # not counted: it is removed with the run directory
    store.set_timeout(meet_within)
    names = _meet(store, rx)
    if all(name["host"] == names[0]["host"] for name in names):
        # one machine needs no network, and its name need not lead to an address
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.distributed.init_process_group(backend, store=torch.distributed.PrefixStore("group", store), rank=rx.rank,
                                         world_size=rx.ranks, timeout=timeout)
    try:
        met = _count(device)
        if met != rx.ranks or torch.distributed.get_world_size() != rx.ranks:
            raise RuntimeError("the process group has %d of %d ranks" % (met, rx.ranks))
        yield
    finally:
        torch.distributed.destroy_process_group()
