#!/bin/bash
# docs/generators.md: its examples run as they stand.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
ln -s "$srcdir/examples" examples
run_blocks "$srcdir/docs/generators.md" tested
stretto --json results 2 >results.jsonl
is "$(jq -s -c '[length, (map(.name) | unique | length)]' results.jsonl)" "[40,40]" "the optimiser made 40 trials"
for example in optimise.py random.sh; do
	ok "$example is short" test "$(wc -l <"$srcdir/examples/suggest/$example")" -lt 80
done
kill "$(jobs -p)"
wait
done_testing
