#!/usr/bin/env bash
# Archives: files of attempts that have ended go into a few files an ensemble. Output is read as before, to the last
# byte; nothing of ours is left besides, and what members wrote is all there.
# shellcheck disable=SC2016 # for wait_for
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/archives.sh"

# --- archived
start_daemon --config "$T/now.json"
ok "all jobs are archived" wait_for 30 all_archived
outputs "$ID" >"$T/after"
ok "every byte of output is as it was" cmp "$T/before" "$T/after"
is "$(ours "$ID")" "$left" "nothing of ours is left but what is too large for an archive"
is "$(cd "$STATE/run/e$ID" && find . -name mine | sort | xargs cat | xargs) $(cd "$STATE/run/e$ID" && echo *.archive)" \
	"result state other-1.archive succeeded-1.archive" "what members wrote is all there"
is "$(stat -c %a "$STATE/run/e$ID"/*.archive | xargs)" "600 600" "archives are for their owner alone"
url=http://stretto/v1/ensembles/$ID/members
get() { curl -s --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' "$@"; }
header() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }
is "$(get -r 3-8 "$url/2/stdout") $(cat "$T/body") $(header Content-Range)" "206 ber 2, bytes 3-8/26" "a range"
is "$(get -r -2 "$url/2/stderr") $(xxd -p "$T/body") $(header Content-Range)" "206 720a bytes 8-9/10" "the end"
is "$(get -r 10- "$url/2/stderr") $(header Content-Range)" "416 bytes */10" "a range of nothing"
is "$(get -I "$url/2/stderr") $(header Content-Length)" "200 10" "HEAD"
is "$(get "$url/2/stderr?follow=1&from=3") $(cat "$T/body")" "200 stderr" "followed from a byte on, it ends where it ended"
is "$(get "$url/4/stderr") $(wc -c <"$T/body")" "200 0" "empty output is empty"
is "$(stretto logs --stderr "$ID.1" 2>&1)" "to stderr" "stretto logs shows it"
ok "a runner that comes late finds no job" test "$(for job in $jobs; do "$builddir/stretto-run" "$STATE/run/e$ID/jobs/$job" >"$T/late" 2>&1; echo $?; done | sort -u)" = 78
is "$(ours "$ID")" "$left" "and makes nothing"
stop_daemon

# --- an older database is put in the place of this one: what was archived since is read from the archives
rm -rf "$STATE"
mkfifo "$T/go"
start_daemon --config "$T/now.json"
jq -n --arg go "$T/go" '{name: "long", width: 2, members: {command: ["sh", "-c", "echo early; [ {i} = 0 ] || read x <\($go); echo late"],
	parameters: {grid: {i: [0, 1]}}, retries: 0}}' >"$T/long.json"
ID=$(submit "$T/long.json")
wait_for 30 '[ "$(api GET "/v1/ensembles/$ID" | jq -c "[.members.succeeded, .members.running]")" = "[1,1]" ]' || bail "its members do not run"
wait_for 30 '[ "$(api GET "/v1/ensembles/$ID/members/1/stdout")" = early ]' || bail "it says nothing"
stretto backup "$T/old.db" >"$T/out"
curl -s -N --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$ID/members/1/stdout?follow=1" >"$T/followed" &
follower=$!
wait_for 30 'grep -q early "$T/followed"' || bail "nothing is followed"
echo >"$T/go"
ok "an ensemble ends" wait_ensemble "$ID" 60
ok "and is archived" wait_for 30 all_archived
wait $follower
is "$(xargs <"$T/followed")" "early late" "who follows a member sees all of its output"
stop_daemon
rm -f "$STATE"/stretto.db*
cp "$T/old.db" "$STATE/stretto.db"
start_daemon --config "$T/now.json"
ok "with the older database it ends again" wait_ensemble "$ID" 60
is "$(jq -c .members.succeeded "$T/ensemble.json") $(db "SELECT count(*) FROM attempt")" "2 2" "without another attempt"
ok "and is archived again" wait_for 30 all_archived
is "$(for i in 0 1; do api GET "/v1/ensembles/$ID/members/$i/stdout"; done | xargs)" "early late early late" "with its output"
stop_daemon

# --- an attempt that was lost keeps its place in the run directory
start_daemon --config "$T/now.json"
jq -n --arg go "$T/go" '{name: "lost", width: 1, members: {command: ["sh", "-c", "echo attempt $STRETTO_ATTEMPT; [ $STRETTO_ATTEMPT = 2 ] || read x <\($go)"],
	parameters: {grid: {i: [0]}}}}' >"$T/lost.json"
ID=$(submit "$T/lost.json")
wait_for 30 '[ "$(api GET "/v1/ensembles/$ID/members/0/stdout")" = "attempt 1" ]' || bail "it does not run"
kill -KILL "$(jq .pid "$STATE/run/e$ID"/jobs/*/claim.json)"
ok "an ensemble whose runner was killed ends" wait_ensemble "$ID" 60
wait_for 30 all_archived
is "$(for n in 1 2; do api GET "/v1/ensembles/$ID/members/0/stdout?attempt=$n"; done | xargs)" "attempt 1 attempt 2" "the output of both attempts is there"
is "$(db "SELECT number, archive IS NULL FROM attempt WHERE ensemble = $ID ORDER BY number" | xargs)" "1|1 2|0" "that of the lost one is in no archive"

# --- what is let go of by keep_output goes with its archives
stop_daemon
rm -rf "$STATE"
cp -a "$T/snapshot" "$STATE"
ID=1
start_daemon --config "$T/now.json"
wait_for 30 all_archived
stop_daemon
jq '.keep_output = "failed" | .keep_output_for = "1s"' "$T/now.json" >"$T/failed.json"
start_daemon --config "$T/failed.json"
wait_for 30 '[ "$(db "SELECT swept FROM ensemble")" = 1 ]' || bail "nothing is let go"
is "$(cd "$STATE/run/e$ID" && echo *.archive)" other-1.archive "archives of members that succeeded are removed"
is "$(api_status GET "/v1/ensembles/$ID/members/0/stdout") $(code)" "410 output_released" "which is said"
is "$(api_status GET "/v1/ensembles/$ID/members/1/stdout?attempt=2")" 200 "output of a member that failed is kept"
stop_daemon
sed 's/"failed"/"none"/' "$T/failed.json" >"$T/none.json"
start_daemon --config "$T/none.json"
wait_for 30 '[ "$(db "SELECT swept FROM ensemble")" = 2 ]' || bail "nothing is let go"
is "$(find "$STATE/run/e$ID" -type f ! -name mine)" "" "unless none is kept"

# --- an archive that is damaged or gone
stop_daemon
rm -rf "$STATE"
cp -a "$T/snapshot" "$STATE"
start_daemon --config "$T/now.json"
wait_for 30 all_archived
printf 'damage' | dd of="$STATE/run/e$ID/other-1.archive" conv=notrunc status=none
rm "$STATE/run/e$ID/succeeded-1.archive"
is "$(api_status GET "/v1/ensembles/$ID/members/1/stdout?attempt=1") $(code)" "500 output_unreadable" "a damaged archive is no output"
is "$(api_status GET "/v1/ensembles/$ID/members/0/stdout") $(code)" "500 output_unreadable" "nor is a missing one"
done_testing
