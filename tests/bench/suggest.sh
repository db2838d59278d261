# An open ensemble: how fast suggestions are taken, and how soon a generator and its members hear of each other.
#
#   suggest-calls        suggestions a second, one in each call, from 16 clients at once; the baseline: rows a second that SQLite
#                        commits one by one on the same disk, as a study in a file of its own would
#   suggest-rows         suggestions a second, 100 in each call, from one client
#   result-to-event      milliseconds from the last thing that a member does to its event at a reader of the stream
#   decision-to-member   milliseconds from sending a suggestion to the first thing that its member does, in an allocation;
#                        the baseline: the same without an allocation
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

echo '{"adapters": {"local": {"slots": 4}}}' >config.json
start_daemon --config config.json
spec() { # JQ
	jq -n -c '{name: "suggest", width: 4, members: {command: ["sh", "-c", "date +%s.%N >\"$0\"; date +%s.%N >>\"$0\"", "{file}"],
		parameters: {open: ["file"]}}} | '"$1"
}
spec . >alone.json
spec '.allocation = {walltime: "30m", cpus: 2, idle: "10m"} | .members.resources = {walltime: "1m"}' >inside.json
python3 "$srcdir/tests/bench/suggest_bench.py" "$SOCKET" "$T" "$(submit alone.json)" "$(submit alone.json)" "$(submit inside.json)" >figures || bail "it failed"
value() { jq -r "select(.name == \"$1\").value" figures; }
figure suggest-calls "$(value calls)" suggestions/s "SQLite, a commit each" "$(value commits)"
figure suggest-rows "$(value rows)" suggestions/s
figure result-to-event "$(value event)" ms
figure result-to-event-worst "$(value event-worst)" ms
figure decision-to-member "$(value inside)" ms "without an allocation" "$(value alone)"
figure decision-to-member-worst "$(value inside-worst)" ms
for id in 1 2 3; do api POST "/v1/ensembles/$id/cancel" >/dev/null; done
for id in 1 2 3; do wait_ensemble $id 60; done
# shellcheck disable=SC2016 # for wait_for
wait_for 30 '[ "$(left_behind | wc -l)" -le 2 ]'
bench_done
