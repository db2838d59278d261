# The listings of docs/solver.md.
solverdir = $(pkgdatadir)/examples/solver
dist_solver_DATA = \
	examples/solver/diffusion.c \
	examples/solver/diffusion.f90 \
	examples/solver/diffusion.py \
	examples/solver/diffusion_mpi.c \
	examples/solver/diffusion_mpi.f90 \
	examples/solver/train.py

