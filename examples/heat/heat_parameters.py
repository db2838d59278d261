"""The parameters that an ensemble of heat2d varies."""

# The options of heat2d that the ensemble's parameters stand for.
SOLVER_OPTIONS = {"t0": "--initial", "tw": "--west", "te": "--east", "ts": "--south", "tn": "--north"}
