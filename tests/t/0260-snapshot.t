#!/usr/bin/env bash
# What stretto.torch.Checkpoints saves while the training goes on: a copy of the state, in the format of torch.save().
TEST_LIMIT=240
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
python() { rm -f state.pt; PYTHONPATH=$builddir/python "$STRETTO_PYTHON" -B "$srcdir/tests/t/snapshot.py" "$@"; }
"$STRETTO_PYTHON" -c 'import torch; exit(not hasattr(torch, "UntypedStorage"))' 2>/dev/null || skip_all "no PyTorch 1.13 or later"
cd "$T" || exit 99

ok "the file has what torch.save() writes, byte by byte, for tensors of all sorts" python writes_what_torch_save_does
ok "it has the state of the moment when it was copied" python is_of_the_moment
ok "memory is used again, and grows with the state" python uses_its_memory_again
ok "a full disk is told" python tells_of_a_full_disk
ok "its memory is locked for the GPU on which the state lies" python locks_memory_for_the_gpu_of_the_state
ok "Checkpoints copies what is due, and waits for the last one" python is_taken_for_checkpoints
ok "a program can do without the copy" python can_be_turned_off
status_is 0 "without memory for a copy the training waits" python does_without_memory
is "$(grep -c "no memory for a copy of the state" "$T/err")" 1 "which is said once"
done_testing
