#!/usr/bin/env bash
# The parts of the surrogate that need no stream: scale, network, learning rate, books, held-out members.
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with torch and numpy"
export PATH=$builddir/examples/heat:$PATH PYTHONPATH=$builddir/python
unset STRETTO_NTASKS STRETTO_STREAM

# part NAME: Python, on standard input. run_parts: each in a process of its own, a copy of one that has PyTorch, which
# takes seconds to start, already.
parts=()
part() {
	cat >"part.${#parts[@]}"
	parts+=("$1")
}
run_parts() {
	timeout $((100 * PATIENCE)) "$STRETTO_PYTHON" - ${#parts[@]} <<'PY'
import os, sys, traceback
import torch
for n in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        with open(f"part.{n}.out", "w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        try:
            with open(f"part.{n}") as part:
                exec(compile(part.read(), f"part.{n}", "exec"), {"__name__": "__main__"})
            open(f"part.{n}.good", "x").close()
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    os.waitpid(child, 0)
PY
	local n
	for ((n = 0; n < ${#parts[@]}; n++)); do ok "${parts[n]}" went_well $n; done
}
went_well() { cat "part.$1.out" && [ -e "part.$1.good" ]; }

part "scale: the range becomes [-1, 1], and comes back" <<'PY'
import torch
from stretto.examples.heat_model import Scale
scale = Scale(100, 500, 50)
params = torch.tensor([[100.0, 300.0], [500.0, 200.0]], dtype=torch.float64)
inputs = scale.inputs(params, torch.tensor([0, 50]))
assert inputs.dtype == torch.float32
assert torch.equal(inputs, torch.tensor([[-1.0, 0.0, -1.0], [1.0, -0.5, 1.0]])), inputs
assert torch.allclose(scale.kelvin(scale.fields(params)), params)
one_kelvin_off = (scale.fields(params) - scale.fields(params + 1)).pow(2).mean()
assert abs(one_kelvin_off * scale.squared_kelvin - 1) < 1e-12
for wrong in ((500, 100, 50), (100, 500, 0)):
    try:
        Scale(*wrong)
    except ValueError:
        continue
    raise AssertionError(wrong)
PY
part "network: parameters and time in, the field out" <<'PY'
import torch
from stretto.examples.heat_model import make_model
model = make_model(5, 32, (7, 7))
assert model(torch.zeros(3, 6)).shape == (3, 7, 7)
sizes = [(m.in_features, m.out_features) for m in model if isinstance(m, torch.nn.Linear)]
assert sizes == [(6, 32), (32, 32), (32, 49)], sizes
PY
part "learning rate: halved at equal distances" <<'PY'
from stretto.examples.heat_model import learning_rate
assert learning_rate(1e-3, 0, 4) == 1e-3
assert learning_rate(1e-3, 0.19, 4) == 1e-3 and learning_rate(1e-3, 0.21, 4) == 5e-4
assert learning_rate(1e-3, 1, 4) == learning_rate(1e-3, 7, 4) == 1e-3 / 16
assert learning_rate(1e-3, 1, 0) == 1e-3
PY
part "books: each sample counts once as unique, every time as drawn" <<'PY'
import json
import numpy
from stretto.examples.heat_books import Books
books, rng, drawn, samples = Books(), numpy.random.default_rng(5), set(), 0
for n in range(200):
    member, step = rng.integers(0, 1 + 3 * n // 20, 10), rng.integers(1, 2 + n // 10, 10)
    books.enter(member, step)
    drawn |= set(zip(member.tolist(), step.tolist()))
    samples += 10
    assert books.unique == len(drawn)
books.enter(numpy.array([], dtype=int), numpy.array([], dtype=int))
books.save("books.json")
with open("books.json") as file:
    assert json.load(file) == {"unique_drawn": len(drawn), "batches": 200, "samples": samples,
                               "members": len({member for member, _ in drawn})}
PY
part "books: those of other numbers of ranks are divided, and nothing is lost or counted twice" <<'PY'
import numpy
from stretto.examples.heat_books import Books
books = [Books() for rank in range(3)]
for rank, one in enumerate(books):
    for step in range(20):
        one.enter(numpy.full(3 + rank, rank), numpy.arange(3 + rank) * 3 + step)
states = [one.state_dict() for one in books]
for ranks in (1, 2, 3, 5):
    after = [Books() for rank in range(ranks)]
    for rank, one in enumerate(after):
        one.enter(numpy.array([7]), numpy.array([7])) # of a state that it had loaded before
        one.load_state_dicts(states[rank::ranks])
    for what in ("unique", "batches", "samples"):
        assert sum(getattr(one, what) for one in after) == sum(getattr(one, what) for one in books), (ranks, what)
    assert sum(int(one.drawn.sum()) for one in after) == sum(one.unique for one in books)
    after[0].enter(numpy.array([0]), numpy.array([0])) # known
    assert sum(one.unique for one in after) == sum(one.unique for one in books)
PY
part "a step has as many samples when there are more ranks, and less of the learning rate when it has fewer" <<'PY'
import torch
from stretto.examples.heat_model import GlobalBatch
def after(begun, ranks, batch=10):
    now = GlobalBatch(ranks, batch)
    now.load_state_dict(begun.state_dict())
    return now
one = GlobalBatch(1, 10)
assert (one.parts, one.factor) == (1, 1)
one.batches = 7
for ranks in (1, 2, 5, 10):
    more = after(one, ranks)
    assert (more.parts, more.factor, more.batches) == (ranks, 1, 7), ranks
assert after(after(one, 2), 1).parts == after(after(one, 2), 1).factor == 1 # what counts is how it began
many = after(one, 40)
assert many.parts == 10 and abs(many.factor - 2) < 1e-12
fewer = after(GlobalBatch(4, 10), 1)
assert fewer.parts == 1 and fewer.factor == 0.5
assert after(GlobalBatch(2, 10), 3).parts == 2
batch = {"step": torch.arange(10), "params": torch.arange(20.0).reshape(10, 2)}
parts = after(one, 3).split(batch)
assert [len(part["step"]) for part in parts] == [4, 3, 3]
assert torch.equal(torch.cat([part["step"] for part in parts]), batch["step"])
assert torch.equal(torch.cat([part["params"] for part in parts]), batch["params"])
few = after(one, 3).split({"step": torch.tensor([1, 2])}) # a step on each rank all the same, or the others would wait
assert [part["step"].tolist() for part in few] == [[1], [2], [1]], few
PY
part "books: members that go on in step, as through a FIFO, take no more room than their samples" <<'PY'
import numpy
from stretto.examples.heat_books import Books
books, members = Books(), numpy.arange(100)
for step in range(1, 1001):
    books.enter(members, numpy.full(100, step))
assert books.unique == 100000 and books.drawn.size < 4 * 100000, books.drawn.shape
PY
part "held-out members: heat2d is told the parameters by name, and nothing of the stream" <<'PY'
from stretto.examples.heat_validation import draw, solver_command, solver_environment
assert solver_command("heat2d", ["tn", "t0"], [101.5, 300.0], 8, 4, 0.01, 3, "x.npy") == [
    "heat2d", "--grid", "8", "--steps", "4", "--output", "x.npy", "--dt", "0.01", "--substeps", "3",
    "--north", "101.5", "--initial", "300.0"]
clean = solver_environment({"PATH": "/bin", "STRETTO_STREAM": "x", "STRETTO_NTASKS": "1", "STRETTO_JOB": "j",
                            "PMI_RANK": "0"})
assert clean == {"PATH": "/bin", "STRETTO_JOB": "j"}, clean
rows = draw(["a", "b"], 6, 100, 500, 3)
assert rows.shape == (6, 2) and (rows == draw(["a", "b"], 6, 100, 500, 3)).all()
assert (rows != draw(["a", "b"], 6, 100, 500, 4)).all()
PY
part "progress: a rank has drawn all when it has drawn its share" <<'PY'
import collections, contextlib, types
import torch
from stretto.examples import heat_surrogate
class Watched(heat_surrogate.Trainer):
    def set_progress(self, progress):
        super().set_progress(progress)
        seen.append((progress, self.optimiser.param_groups[0]["lr"]))
seen, Field = [], collections.namedtuple("Field", "dtype shape")
heat_surrogate.Trainer = Watched
heat_surrogate.stretto.distributed.process_group = lambda rx, device: contextlib.nullcontext()
torch.nn.parallel.DistributedDataParallel = lambda model: model
options = heat_surrogate.parser("x", "x").parse_args(["--steps", "6", "--hidden", "4", "--halvings", "2", "--lr", "0.008"])
rx = types.SimpleNamespace(resume=None, resume_step=None, checkpoint_every=None, checkpoint_due=lambda: False, on_wait=lambda call: None, learnt=lambda: None,
                           rank=1, ranks=2, batch_size=3, count=4, parameters=["t0"], fields={"temperature": Field("float32", (3, 3))})
def half(rx, device): # of the 24 samples, three at a time
    for at in (0, 0, 3, 3, 6, 9): # some are drawn again
        place = torch.arange(at, at + 3)
        yield {"temperature": torch.full((3, 3, 3), 300.0), "params": torch.full((3, 1), 300.0, dtype=torch.float64),
               "member": place // 6, "step": place % 6 + 1}
heat_surrogate.train(rx, options, half)
assert seen == [(0.25, 0.008)] * 2 + [(0.5, 0.004)] * 2 + [(0.75, 0.002), (1.0, 0.002)], seen
PY
part "series: means since the last point, with what is left at the end; losses of held-out members at the start, on the way and at the end" <<'PY'
import collections, contextlib, types
import torch
from stretto.examples import heat_surrogate
class Counting(heat_surrogate.Trainer):
    def learn(self, batch, progress):
        losses.append(len(losses) + 1.0)
        return torch.tensor(losses[-1])
losses, points, Field = [], [], collections.namedtuple("Field", "dtype shape")
heat_surrogate.Trainer = Counting
heat_surrogate.stretto.distributed.process_group = lambda rx, device: contextlib.nullcontext()
def held_out(names, members, scale, grid, dt, substeps, seed):
    asked[:] = [names, members, (scale.low, scale.high, scale.steps), grid, dt, substeps, seed]
    return contextlib.nullcontext(types.SimpleNamespace(loss=lambda model, device: 100.0 + len(losses)))
asked = []
heat_surrogate.HeldOut = held_out
def seven(rx, device):
    for n in range(7):
        yield {"temperature": torch.zeros(1, 3, 3), "params": torch.zeros(1, 1), "member": torch.tensor([0]), "step": torch.tensor([n + 1])}
rx = types.SimpleNamespace(resume=None, resume_step=None, checkpoint_every=None, checkpoint_due=lambda: False, on_wait=lambda call: None, learnt=lambda: None,
                           rank=0, ranks=1, batch_size=1, count=1, parameters=["t0"], fields={"temperature": Field("float32", (3, 3))},
                           metric=lambda name, step, value: points.append((name, step, value)))
def told(*more):
    del losses[:], points[:]
    options = ["--steps", "7", "--hidden", "4", "--report-every", "3", "--validate-every", "4"] + list(more)
    heat_surrogate.train(rx, heat_surrogate.parser("x", "x").parse_args(options), seven)
    return [[(step, value) for name, step, value in points if name == series] for series in ("train_loss", "validation_loss")]
got = told()
assert got == [[(3, 2.0), (6, 5.0), (7, 7.0)], [(0, 100.0), (4, 104.0), (7, 107.0)]], got
got = told("--limit", "5") # what is drawn beyond it is not learnt from
assert got == [[(3, 2.0), (7, 4.5)], [(0, 100.0), (4, 104.0), (7, 105.0)]], got
got = told("--validate-every", "7") # once at the end, not twice
assert got[1] == [(0, 100.0), (7, 107.0)], got
told("--low", "200", "--high", "400", "--seed", "3", "--validation-seed", "4", "--validation-members", "5", "--dt", "0.5", "--substeps", "6")
assert asked == [["t0"], 5, (200.0, 400.0, 7), 3, 0.5, 6, 4], asked
saved = torch.load("model.pt")
assert [saved[name] for name in ("low", "high", "steps", "hidden")] == [200.0, 400.0, 7, 4], saved
heat_surrogate.make_model(1, 4, (3, 3)).load_state_dict(saved["model"])
for field in (Field("float32", (3, 4)), Field("float32", (3,)), Field("float32", (3, 3, 3))):
    rx.fields["temperature"] = field
    try:
        told()
    except RuntimeError as error:
        assert "not N x N" in str(error), error
        continue
    raise AssertionError(field)
PY
[ -n "${STRETTO_MPIEXEC:-}" ] || { run_parts; skip "no heat2d: built without MPI"; done_testing; }
part "held-out members: the loss is in K², and the files go" <<'PY'
import os
import torch
from stretto.examples.heat_model import Scale
from stretto.examples.heat_parameters import SOLVER_OPTIONS
from stretto.examples.heat_validation import HeldOut
class Constant(torch.nn.Module):
    """300 K everywhere."""
    def forward(self, inputs):
        return torch.zeros(len(inputs), 9, 9)
scale = Scale(100, 500, 70)
with HeldOut(list(SOLVER_OPTIONS), 3, scale, 9, None, None, 11) as held_out:
    assert all(field.shape == (70, 9, 9) for field in held_out.fields)
    wanted = sum(((field.astype(float) - 300) ** 2).mean() for field in held_out.fields) / 3
    got = held_out.loss(Constant(), torch.device("cpu"))
    assert abs(got - wanted) < 1e-4 * wanted and wanted > 1000, (got, wanted)
    class Clock(torch.nn.Module):
        """As many kelvin as the step and the first parameter tell."""
        def forward(self, inputs):
            return (inputs[:, -1] + inputs[:, 0]).reshape(-1, 1, 1).expand(-1, 9, 9)
    wanted = sum(((field[step - 1] - (2 * step / 70 - 1) * 200 - row[0]) ** 2).mean()
                 for row, field in zip(held_out.params, held_out.fields) for step in range(1, 71)) / 210
    got = held_out.loss(Clock(), torch.device("cpu"))
    assert abs(got - wanted) < 1e-4 * wanted, (got, wanted)
    where = held_out.directory.name
    assert os.path.isdir(where)
assert not os.path.exists(where)
PY
part "held-out members: a solver that fails is told" <<'PY'
from stretto.examples.heat_model import Scale
from stretto.examples.heat_validation import HeldOut
for solver, reason in (("heat2d", "--grid wants"), ("no-such-solver", "not on PATH")):
    try:
        HeldOut(["t0"], 1, Scale(100, 500, 3), 0, None, None, 1, solver)
    except RuntimeError as error:
        assert reason in str(error), error
        continue
    raise AssertionError(solver)
PY
run_parts
done_testing
