#!/usr/bin/env bash
# Checkpoints of stretto.torch.Checkpoints while the training goes on: a copy of the state, in the format of
# torch.save().
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch; exit(not hasattr(torch, "UntypedStorage"))' 2>/dev/null || skip_all "no PyTorch 1.13 or later"
cd "$T" || exit 99

PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$srcdir/tests/t/snapshot.py" >told 2>complaints
passes() { ok "$2" grep -q -x "$1 passed" told; }
passes writes_what_torch_save_does "the file has what torch.save() writes, byte by byte, for tensors of all sorts"
passes is_of_the_moment "it has the state of the moment when it was copied"
passes uses_its_memory_again "its memory is used again, and grows with the state"
passes tells_of_a_full_disk "a full disk is told"
passes locks_memory_for_the_gpu_of_the_state "its memory is locked for the GPU on which the state lies"
passes is_taken_for_checkpoints "Checkpoints copies what is due, and waits for the last one"
passes can_be_turned_off "a program can do without the copy"
passes does_without_memory "without memory for a copy the training waits"
is "$(grep -c "no memory for a copy of the state" does_without_memory.log)" 1 "which is said once"
is "$(cat complaints)" "" "nothing else is said"
done_testing
