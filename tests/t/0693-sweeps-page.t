#!/bin/bash
# docs/sweeps.md: its examples run as they stand.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
run_blocks "$srcdir/docs/sweeps.md" tested
stretto --json report 1 >runs.json
is "$(jq -c '[([.runs[] | select(.fate == "ranked")] | length), ([.runs[] | select(.fate == "diverged")] | length)]' runs.json)" "[8,4]" \
	"runs that ended in NaN are told apart"
kill "$(jobs -p)"
wait
done_testing
