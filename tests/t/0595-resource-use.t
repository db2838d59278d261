#!/usr/bin/env bash
# The resources that each attempt used, and when it was queued, started and ended: in lists of members, in members, and
# by command.
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
# the first takes 64 MiB and some time of a CPU; the second cannot be started; the third waits
jq -n '{name: "use", width: 1, members: {command: ["sh", "-c", "case {i} in 0) dd if=/dev/zero of=/dev/null bs=64M count=8 2>dd;; 1) exit 3;; 2) exec sleep 600;; esac"],
	retries: 0, parameters: {grid: {i: [0, 1, 2, 3]}}}}' >"$T/spec.json"
id=$(submit "$T/spec.json")
wait_for 60 '[ "$(api GET /v1/ensembles/'"$id"' | jq -c ".members | [.succeeded, .failed, .running]")" = "[1,1,1]" ]'
api GET "/v1/ensembles/$id/members" >"$T/list"
api GET "/v1/ensembles/$id/members/0" >"$T/member"
last() { jq -r ".members[$1].last_attempt | $2" "$T/list"; }
is "$(last 0 '.memory_peak >= 67108864 and .memory_peak < 1e9')" true "the peak of memory is told in bytes ($(last 0 .memory_peak))"
is "$(last 0 '.cpu_seconds > 0 and .cpu_seconds < 600')" true "CPU time is told in seconds ($(last 0 .cpu_seconds))"
is "$(last 0 '.submitted <= .started and .started <= .ended and (.host | length) > 0')" true "when it was queued, started and ended, and where"
is "$(jq -c '.attempts[-1] | {outcome, host, submitted, started, ended, cpu_seconds, memory_peak}' "$T/member" | jq $JQ_SORTS .)" "$(last 0 . | jq $JQ_SORTS .)" "the member's attempt says the same"
is "$(last 1 '.memory_peak > 0 and .memory_peak < 67108864')" true "another attempt used less"
is "$(last 2 '[.cpu_seconds, .memory_peak, .ended] | tostring')" '[null,null,null]' "of one that runs it is not known"
is "$(last 3 .)" null "one that waits has had no attempt"

stretto members "$id" --long >"$T/out"
like "$(head -n 1 "$T/out")" 'attempts +done +host +queued +ran +CPU +memory +parameters' "--long has columns for it"
like "$(sed -n 2p "$T/out")" '^ *0 +succeeded +1 +- +[^ ]+ +[0-9.]+s +[0-9.]+s +[0-9.]+s +[0-9.]+ MiB ' "in units for people"
like "$(sed -n 5p "$T/out")" '^ *3 +pending +0 +- +- +- +- +- +- ' "and - where there is nothing to tell"
stretto members "$id.0" >"$T/out"
like "$(cat "$T/out")" 'ran +CPU +memory' "attempts of a member have them, too"
status_is 2 "--long is for lists" stretto members "$id.0" --long

# kept over a restart, and over another attempt
api POST "/v1/ensembles/$id/members/1/resubmit" '{}' >"$T/out"
api POST "/v1/ensembles/$id/members/2/cancel" >"$T/out"
ok "it ends" wait_ensemble "$id" 60
stop_daemon
start_daemon
is "$(api GET "/v1/ensembles/$id/members/1" | jq -c '[.attempts[] | .memory_peak > 0]')" '[true,true]' "each attempt has its own"

done_testing
