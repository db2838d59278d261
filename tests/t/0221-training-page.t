#!/usr/bin/env bash
# docs/training.md: its listing is the file of examples/training, and its commands run as they stand, with PyTorch.
TEST_LIMIT=240
PLAIN_PYTHON=yes
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>torch.err || skip_all "no PyTorch: $(tail -n 1 torch.err)"

awk '$0 == "<!-- file: examples/training/learn.py -->" { armed = 1; next }
	armed && /^```/ { if (inside) exit; inside = 1; next }
	inside { print }' "$srcdir/docs/training.md" >listing
ok "the page has the program as it is" diff "$srcdir/examples/training/learn.py" listing

ln -s "$srcdir/examples" examples
run_blocks "$srcdir/docs/training.md" tested
for id in 1 2; do
	is "$(stretto --json status $id | jq -c '[.state, .training.unique, .training.duplicates, (.training.drawn >= 320)]')" \
		'["complete",320,0,true]' "ensemble $id has learnt from every step of its members"
done
kill "$(jobs -p)"
wait
done_testing
