# How fast members are started: 2,000 members of `true`, width 8, one a job, against `xargs -P8 -n1 true`.
#
#   dispatch-rate        members a second, from the ensemble's acceptance to its end
#   dispatch-daemon-cpu  the daemon's CPU time a member, all its threads
#   dispatch-gap-busy    from the end of a member to the start of the next one in its place, while the machine is as busy as
#                        it can be with starting members
#   dispatch-gap         the same with members that wait 50 ms, so that the machine is idle otherwise
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
MEMBERS=${BENCH_MEMBERS:-2000}
WIDTH=8

spec() { # COUNT COMMAND...: of an ensemble
	local count=$1
	shift
	jq -n -c --argjson count "$count" --argjson width $WIDTH '{name: "dispatch", adapter: "local", width: $width, pack: 1,
		members: {command: $ARGS.positional, retries: 0,
			parameters: {method: "monte-carlo", count: $count, seed: 1, space: {x: [0, 1]}}}}' --args "$@"
}

run_ensemble() { # SPEC: its id in $ID, and in $TOOK the seconds from the request to the event of its end
	local start
	start=$(now)
	ID=$(api POST /v1/ensembles "$1" | jq -r .id)
	[ "$ID" != null ] || bail "the ensemble was not accepted: $(cat "$T/api.body")"
	exec 4< <(exec curl -s -S -N -m 300 --unix-socket "$SOCKET" -H 'Accept: text/event-stream' \
		"http://stretto/v1/events?ensemble=$ID&kind=ensemble.complete&after=0")
	grep -q -m 1 ensemble.complete <&4
	TOOK=$(difference "$(now)" "$start")
	kill $! # it would wait for the stream's next line
	exec 4<&-
	[ "$(api GET "/v1/ensembles/$ID" | jq '.members.succeeded == .count')" = true ] || bail "not every member succeeded"
}

# gap ID: the median of what lies between the end of a member and the start of the one that took its place, in ms. With
# WIDTH in flight at any time, the n-th end makes room for the start number n + WIDTH.
gap() {
	find "$STATE/run/e$1/members" -name exit.json -exec cat {} + | jq -s --argjson width $WIDTH '
		(map(.started) | sort) as $starts | (map(.ended) | sort) as $ends
		| [range(0; ($ends | length) - $width) | ($starts[. + $width] - $ends[.]) * 1000] | sort | .[length / 2 | floor]'
}

jq -n --argjson slots $WIDTH '{adapters: {local: {slots: $slots}}, log_level: "warning"}' >config.json
start_daemon --config config.json

for ((round = 0; round < BENCH_ROUNDS; round++)); do
	start=$(now)
	seq "$MEMBERS" | xargs -P$WIDTH -n1 true
	ratio "$MEMBERS" "$(difference "$(now)" "$start")" >>baseline

	cpu=$(cpu_seconds "$DAEMON_PID")
	run_ensemble "$(spec "$MEMBERS" true)"
	ratio "$MEMBERS" "$TOOK" >>rate
	used=$(difference "$(cpu_seconds "$DAEMON_PID")" "$cpu")
	ratio "$used" "$(ratio "$MEMBERS" 1000)" >>cpu_ms_each
	gap "$ID" >>busy
	run_ensemble "$(spec 200 sleep 0.05)"
	gap "$ID" >>idle
done
figure dispatch-rate "$(median <rate)" members/s "xargs -P8 -n1 true" "$(median <baseline)"
figure dispatch-daemon-cpu "$(median <cpu_ms_each)" ms
figure dispatch-gap-busy "$(median <busy)" ms
figure dispatch-gap "$(median <idle)" ms
bench_done
