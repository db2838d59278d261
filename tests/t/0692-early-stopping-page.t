#!/bin/bash
# docs/early-stopping.md: its examples run as they stand.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
run_blocks "$srcdir/docs/early-stopping.md" tested
stretto --json rungs 1 >rungs.json
is "$(jq -c '[.rungs[] | .step]' rungs.json)" "[1,3,9]" "the rungs are those that the page tells"
is "$(jq -c '[.rungs[0].arrived, .rungs[0].promoted >= 6, .rungs[2].arrived > 0]' rungs.json)" "[18,true,true]" "and members go up"
kill "$(jobs -p)"
wait
done_testing
