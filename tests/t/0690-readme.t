#!/bin/bash
# The README's examples run as they stand. Those that need a Slurm are 0660's.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/blocks.sh
. "$srcdir/tests/t/blocks.sh"
run_blocks "$srcdir/README.md" tested
done_testing
