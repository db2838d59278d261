# Metrics of members: 1,000 members that run at once and report a point every 10 seconds, 100 points a second in all, so that the daemon finds
# two points whenever it reads on in the file of a member.
#
#   metrics-cpu   the daemon's CPU time a point in microseconds, all its threads, less what it needs while its members report nothing; the
#                 baseline: plain SQLite that writes the same rows, those of a second in one transaction, at the same time
#   metrics-gross the same with all that the daemon does besides, such as looking at members that report nothing
#   metrics-idle  the daemon's CPU time a second, in microseconds, while as many members run and report nothing
#
# BENCH_MEMBERS: how many; BENCH_SECONDS: how long it is measured; BENCH_PACK: members in a job
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"
MEMBERS=${BENCH_MEMBERS:-1000}
SECONDS_EACH=${BENCH_SECONDS:-40}
PERIOD=10

make -s -C "${builddir:?}" tests/bench/metrics_bench >&2 || bail "the benchmark's program cannot be built"
program=$(realpath "$builddir/tests/bench/metrics_bench")
jq -n --argjson slots "$MEMBERS" '{adapters: {local: {slots: $slots}}, log_level: "warning"}' >config.json
start_daemon --config config.json
jq -n --arg program "$program" --arg period "$PERIOD" --argjson count "$MEMBERS" --argjson pack "${BENCH_PACK:-10}" '{name: "metrics",
	width: $count, pack: $pack, members: {command: [$program, "member", $period], resources: {memory: "1MiB"},
		parameters: {method: "monte-carlo", count: $count, seed: 1, space: {x: [0, 1]}}}}' >spec.json
jq '.members.command[2] = "1000000"' spec.json >silent.json
points() {
	python3 - "$STATE/stretto.db" <<-'END'
		import sqlite3, sys
		print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute("SELECT total(points) FROM member_series").fetchone()[0])
	END
}
begin() { # SPEC: of which all members run; its id in $id
	id=$(submit "$1")
	# shellcheck disable=SC2016 # for wait_for
	wait_for 300 '[ "$(api GET "/v1/ensembles/$id" | jq .members.running)" = "$MEMBERS" ]'
	sleep 30 # until each job is read at its own pace
}
end() {
	api POST "/v1/ensembles/$id/cancel" >/dev/null
	wait_ensemble "$id" 300
}
begin silent.json
cpu=$(cpu_seconds "$DAEMON_PID")
sleep "$SECONDS_EACH"
idle=$(difference "$(cpu_seconds "$DAEMON_PID")" "$cpu")
end
begin spec.json
for ((round = 0; round < BENCH_ROUNDS; round++)); do
	rm -f base.db*
	"$program" sqlite base.db $((MEMBERS / PERIOD)) "$SECONDS_EACH" >>baseline &
	other=$!
	before=$(points)
	cpu=$(cpu_seconds "$DAEMON_PID")
	sleep "$SECONDS_EACH"
	used=$(difference "$(cpu_seconds "$DAEMON_PID")" "$cpu")
	n=$(difference "$(points)" "$before")
	wait "$other"
	echo "$n points in $SECONDS_EACH s, $used s of CPU time, and $idle s without points"
	ratio "$(jq -n --argjson s "$(difference "$used" "$idle")" '$s * 1e6')" "$n" >>cpu_us
	ratio "$(jq -n --argjson s "$used" '$s * 1e6')" "$n" >>gross_us
done
figure metrics-cpu "$(median <cpu_us)" "us/point" "SQLite, a commit a second" "$(median <baseline)"
figure metrics-gross "$(median <gross_us)" "us/point" "SQLite, a commit a second" "$(median <baseline)"
figure metrics-idle "$(ratio "$idle" "$SECONDS_EACH" | jq '. * 1e6')" "us/s"
end
bench_done
