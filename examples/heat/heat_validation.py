"""Members that no training has seen. heat2d itself computes them when the training starts."""

import os
import shutil
import subprocess
import tempfile

import numpy
import torch

from stretto.examples.heat_parameters import SOLVER_OPTIONS


def draw(names, members, low, high, seed):
    """Return parameter sets, uniform between low and high kelvin: (members, parameters) float64."""
    return numpy.random.default_rng(seed).uniform(low, high, (members, len(names)))


def solver_command(solver, names, row, grid, steps, dt, substeps, output):
    command = [solver, "--grid", str(grid), "--steps", str(steps), "--output", output]
    if dt is not None:
        command += ["--dt", repr(dt)]
    if substeps is not None:
        command += ["--substeps", str(substeps)]
    for name, value in zip(names, row):
        command += [SOLVER_OPTIONS[name], repr(float(value))]
    return command


def solver_environment(environment):
    """Return the environment without variables that make heat2d a member of an ensemble or a process of our MPI job.

    The mark of our job stays, since by it the whole process tree is found when the job must end.
    """
    return {
        name: value
        for name, value in environment.items()
        if name == "STRETTO_JOB" or not name.startswith(("STRETTO_", "PMI_", "PMIX_", "OMPI_", "HYDI_", "HYDRA_"))
    }


class HeldOut:
    """The fields of members that are never trained on, on disk. A context manager, which removes them."""

    def __init__(self, names, members, scale, grid, dt, substeps, seed, solver="heat2d"):
        self.scale = scale
        self.params = draw(names, members, scale.low, scale.high, seed)
        self.directory = tempfile.TemporaryDirectory(prefix="heat-", dir=os.environ.get("STRETTO_TMPDIR"))
        try:
            self.fields = [self._compute(solver, names, i, grid, dt, substeps) for i in range(members)]
        except BaseException:
            self.directory.cleanup()
            raise

    def _compute(self, solver, names, i, grid, dt, substeps):
        path = os.path.join(self.directory.name, f"{i}.npy")
        found = shutil.which(solver)
        if found is None:
            raise RuntimeError(f'no validation: "{solver}" is not on PATH')
        command = solver_command(found, names, self.params[i], grid, self.scale.steps, dt, substeps, path)
        done = subprocess.run(
            command,
            env=solver_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"no validation: {solver} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return numpy.load(path, mmap_mode="r")

    def loss(self, model, device):
        """Return the mean squared error in K² over all points, steps and members."""
        model.eval()
        total = 0.0
        with torch.no_grad():
            for row, fields in zip(self.params, self.fields):
                step = torch.arange(1, len(fields) + 1)
                params = torch.from_numpy(row).expand(len(fields), -1)
                for some in torch.split(torch.arange(len(fields)), 64):
                    wanted = torch.from_numpy(fields[some[0] : some[-1] + 1].copy()).to(device)
                    inputs = self.scale.inputs(params[some], step[some]).to(device)
                    error = self.scale.kelvin(model(inputs)) - wanted
                    total += float(error.pow(2).mean(dim=(1, 2)).double().sum())
        model.train()
        return total / sum(len(fields) for fields in self.fields)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.fields = []
        self.directory.cleanup()
