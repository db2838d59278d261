#!/usr/bin/env bash
# While members stream, the number of ranks and of members is changed, daemon, runners, ranks and members are killed or
# stopped or told that their time is over, connections are cut and the disk is full, by a seed: the ensemble ends by
# itself, and the model that is left has learnt from every sample, from each once. By hand, with other seeds: SEED=7
# SEEDS=100 ROUNDS=40 tests/t/0748-training-disturbed.t
TEST_LIMIT=${TEST_LIMIT:-900}
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/chaos.sh
. "$srcdir/tests/t/chaos.sh"

: "${SEED:=1}" "${SEEDS:=3}" "${ROUNDS:=6}"
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 12}}, python: $python}' >"$T/config.json"
chaos_disk
start_daemon --config "$T/config.json"
for ((seed = SEED; seed < SEED + SEEDS; seed++)); do chaos "seed$seed" $seed "$ROUNDS"; done
done_testing
