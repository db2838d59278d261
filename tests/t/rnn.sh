# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016 # lib.sh; wait_for
# For tests of examples/rnn on batch systems: source it after lib.sh.
[ -n "${STRETTO_PYTHON:-}" ] || skip_all "no Python with PyTorch and NumPy"

# rnn_family SPEC MEMBERS: the first so many trainings of the example, each of which needs two jobs, to their end.
# Afterwards: $id, and $root, the directory of the first ensemble. PyTorch takes seconds to start: more of them, as many
# as share a job, are by hand.
rnn_family() {
	local members=$2 n
	jq --arg python "$STRETTO_PYTHON" '.python = $python' config.json >config.new && mv config.new config.json
	PYTHONPATH=$builddir/python "$STRETTO_PYTHON" "$srcdir/examples/rnn/rnn_arguments.py" --out arguments.jsonl --count "$members"
	jq '.members.command[-1] = "4" | .members.command += ["--most", "2"]' "$srcdir/examples/rnn/$1" >spec.json
	start_daemon --config config.json
	id=$(stretto submit spec.json --json | jq .id)
	ok "all of $1 are completed" wait_for 300 '[ "$(api GET "/v1/ensembles/$id" | jq .family.members.succeeded)" = '"$members"' ]'
	api GET "/v1/ensembles/$id" >ensemble.json
	is "$(jq -c '[.members.unfinished, (.follow_ups | length)]' ensemble.json)" "[$members,1]" "by a follow-up"
	root=$(jq -r .dir ensemble.json)
	for ((n = 0; n < members; n++)); do
		is "$(tail -n +2 "$root/members/0/$n/checkpoint/history.csv" | cut -d, -f1,5 | xargs)" "1,1.1 2,1.1 3,2.1 4,2.1" \
			"member $n: each epoch once, in order, in two jobs"
		is "$(jq -c '[.cell, .hidden, .lr, .batch, .seed]' "$root/members/0/$n/checkpoint/arguments.json")" \
			"$(sed -n "$((n + 1))p" arguments.jsonl | jq -c "[.cell, .hidden, .lr, .batch, $n]")" "by its own line of the list, with its own seed"
	done
	is "$(sqlite3 "$STATE/stretto.db" 'SELECT max(failures) FROM member')" 0 "no retry was spent"
}
