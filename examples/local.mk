include examples/heat/local.mk
include examples/rnn/local.mk
include examples/solver/local.mk
include examples/rules/local.mk
include examples/sweep/local.mk
include examples/suggest/local.mk
include examples/training/local.mk
