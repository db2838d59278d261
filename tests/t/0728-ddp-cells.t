#!/usr/bin/env bash
# Ranks of PyTorch's DistributedDataParallel, members that send steps in all orders, each kind of buffer, and what may
# happen to the ranks: each training ends by itself, with every sample that was sent, and has learnt what it has drawn.
#
# A rank that starves for good, while the others are in a collective call of a batch that it lacks, could not save a last
# checkpoint: so members go on when one is due, as they do outside of tests.
#
#   CELLS=all 0728-ddp-cells.t                  all 150 cells, by hand
#   CELLS='3 10 firo kill' 0728-ddp-cells.t     those of RANKS ORDER POLICY EVENT; * is any
TEST_LIMIT=${CELL_LIMIT:-400}
PLAIN_PYTHON=yes
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"
"$STRETTO_PYTHON" -c 'import torch' 2>"$T/torch" || skip_all "no PyTorch: $(tail -n 1 "$T/torch")"

MEMBERS=4 STEPS=40
SAMPLES=$((MEMBERS * STEPS))
jq -n --arg python "$STRETTO_PYTHON" '{adapters: {local: {slots: 64}}, python: $python}' >"$T/config.json"
start_daemon --config "$T/config.json"
begin() { # RANKS ORDER POLICY EVENT: sets ID, of a cell
	jq -n --arg top "$srcdir/tests/t" --argjson ranks "$1" --arg order "$2" --arg policy "$3" --arg event "$4" --arg go "$T/go-$1-$2-$3-$4" \
		--arg pause "$([ "$4" = walltime ] && echo 1 || echo 0)" \
		--arg steps $STEPS --argjson members $MEMBERS '{name: "\($ranks)-\($order)-\($policy)-\($event)",
		members: {command: ["{python}", ($top + "/cells-member.py"), $order, $steps, $go, $pause], parameters: {grid: {i: [range($members)]}}},
		training: {command: ["python3", ($top + "/cells-rank.py"), $event], ranks: $ranks, retries: 1, failure_after: "10s",
			resources: (if $event == "walltime" then {walltime: "40s"} else {walltime: "1h"} end),
			checkpoint: {every: "1s", before: (if $event == "walltime" then "20s" else "1m" end)},
			fields: {a: {dtype: "float32", shape: [4]}, b: {dtype: "float32", shape: [4]}},
			buffer: {policy: $policy, capacity: 24, threshold: (if $policy == "fifo" then 0 else 4 end), batch: 2}}}' >"$T/spec.json"
	ID=$(submit "$T/spec.json")
	[ "$ID" != null ] || bail "$(cat "$T/api.body")"
}
get() { api GET "/v1/ensembles/$1" | jq -c "$2"; } # ID EXPRESSION
# drive ID RANKS EVENT GO: what comes from outside
drive() {
	case $3 in
	resize)
		wait_for 120 "[ \"\$(get $1 '.training.drawn > 10')\" = true ]"
		api PATCH "/v1/trainings/$(get "$1" .training.id)" "{\"ranks\": $(($2 == 2 ? 3 : 2))}" >/dev/null
		;;
	esac
	: >"$4"
}
check() { # ID RANKS ORDER POLICY EVENT
	local name="$2 ranks, steps $3, $4, $5" run=$STATE/run/e$1/training told generation
	wait_ensemble "$1" 180 || diag "$(tail -n 5 "$run"/g*/rank?/stderr)"
	told=$(cat "$T/ensemble.json")
	generation=$(jq .training.generation <<<"$told")
	jq -sc 'add' "$run/g$generation"/rank?/learnt.json >"$T/learnt.json"
	if [ "$5" = done ]; then
		is "$(jq -c '[.state, .training.state]' <<<"$told")" '["complete","done"]' "$name: it ends"
	else
		is "$(jq -c '[.state, .training.state, .training.unique, .training.drawn]' <<<"$told")" "[\"complete\",\"done\",$SAMPLES,$SAMPLES]" \
			"$name: it ends with all samples"
	fi
	# shellcheck disable=SC2016 # for jq
	is "$(jq -c --argjson drawn "$(jq .training.drawn <<<"$told")" --arg policy "$4" \
		'[(unique | length) == $drawn, $policy == "reservoir" or length == $drawn]' "$T/learnt.json")" '[true,true]' "$name: and has learnt what it has drawn"
}
if [ "${CELLS:-}" = all ]; then CELLS='* * * *'; fi
set -f; wanted=(${CELLS:-}); set +f
cells=()
for ranks in 2 3; do for order in 1 10 irregular random fields; do for policy in fifo firo reservoir; do for event in kill resize walltime done accumulate; do
	cell="$ranks $order $policy $event"
	if [ ${#wanted[@]} -eq 0 ]; then
		case $cell in "2 random firo resize" | "3 fields reservoir accumulate" | "2 1 fifo kill" | "3 irregular fifo done") cells+=("$cell") ;; esac
	else
		# shellcheck disable=SC2053 # patterns
		[[ $ranks == ${wanted[0]} && $order == ${wanted[1]} && $policy == ${wanted[2]} && $event == ${wanted[3]} ]] && cells+=("$cell")
	fi
done; done; done; done
# some at once, as each mostly waits
for ((at = 0; at < ${#cells[@]}; at += ${CELLS_AT_ONCE:-4})); do
	ids=()
	for cell in "${cells[@]:at:${CELLS_AT_ONCE:-4}}"; do
		# shellcheck disable=SC2086 # words
		begin $cell
		ids+=("$ID")
	done
	for i in "${!ids[@]}"; do
		read -r ranks order policy event <<<"${cells[at + i]}"
		drive "${ids[i]}" "$ranks" "$event" "$T/go-$ranks-$order-$policy-$event"
	done
	for i in "${!ids[@]}"; do
		# shellcheck disable=SC2086
		check "${ids[i]}" ${cells[at + i]}
	done
done
done_testing
