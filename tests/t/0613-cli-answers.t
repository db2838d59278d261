#!/bin/bash
# What `stretto` asks for, what it makes of the answers, and its exit status: a server gives answers that are written
# down, also those that a daemon gives seldom.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"

start_canned

# --- wrong usage asks nobody
answers </dev/null
while read -r line; do
	# shellcheck disable=SC2086 # words
	status_is 2 "wrong usage: $line" stretto $line
done <<'E'
pause
pause 1 2
pause 7.1
resume x
wait
wait 1 2
resize 1
resize 1 --width 0
resize --width 3
cancel
cancel 1 2
cancel 7.training
cancel 7.1x
members
members 1 2
members 7.training
members 7.1 --long
members 7.1 --state failed
checkpoints 1 2
checkpoints 7.x
jobs 1 2
jobs 7.1
resubmit
resubmit 1 2
resubmit 7.training x
resubmit 7.training --state failed
resubmit 7.training --env LR
resubmit 7 --ranks 2
resubmit 7.1 --state failed
spec
spec 7.1
follow-up
follow-up 1 2
follow-up 1 --all
follow-up --all --state failed
follow-up 1 --width 0
follow-up 1 --pack x
logs
logs 1
logs 1.1 2.2
logs 1.training --attempt 1
logs 1.1 --rank 0
logs 1.1 --attempt 0
logs 1.training --rank -1
submit
submit a b
status 1 2
status 7.1
status 7 --state running
status --reverse
status --watch
status 7 --watch --json
token
token destroy
token create
token create --role reader more
token list --role reader
token list --label x
token revoke
token revoke 0
token revoke 1 2
token revoke 1 --expires 1d
dashboard more
dashboard --list --revoke 1
dashboard --list --operator
dashboard --revoke all --expires 1h
dashboard --list --port 8080
dashboard --port 0
dashboard --port 65536
dashboard --revoke 0
backup a b
rungs
rungs 1 2
rungs 7.1
hosts
hosts 7
hosts 7.1 7.2
results
results 1 2
results 7.1
close
close 1 2
close 7.1
events 1 2
events 7.1
metrics
metrics 7.x
metrics 7 --plot --csv
report
report 7 --csv --markdown
report 7 --group lr --repeat lr
report 7 --by target
report 7 --horizon x
top 1 2
top 7.1
suggest
suggest 7.1
adapters more
spec 1 2
E
printf '%s' '{"name": "a"} {}' >two.json
status_is 2 "a spec with something behind it" stretto submit two.json
mkdir folder
status_is 2 "a spec that is a folder" stretto submit folder
head -c 68000000 /dev/zero | tr '\0' ' ' >large.json
status_is 2 "a spec that is far too large" stretto submit large.json
like "$(cat err)" '64 MiB' "which is the reason"
status_is 2 "a label that is not UTF-8" stretto token create --role reader --label $'\xff'
is "$(asked)" "" "nobody was asked"

# --- answers of other kinds
answers <<'E'
GET /v1/ensembles/1 503 {"code": "not_ready", "detail": "It is still reading its database."}
GET /v1/ensembles/2 500 <h1>Oh</h1>
GET /v1/ensembles/3 200 <h1>Oh</h1>
GET /v1/ensembles/4 409 {"code": "some_code", "detail": "Some detail.", "pointer": "/some/place"}
GET /v1/ensembles/5 503 {"code": "busy", "detail": "Too much to do."}
GET /v1/ensembles/6 200 {"id": 6}
DELETE /v1/tokens/7 404 {"code": "token_not_found", "detail": "There is no token 7."}
E
status_is 4 "a daemon that is not ready is none yet" stretto status 1
like "$(cat err)" 'It is still reading its database\.' "and can say why"
status_is 3 "an answer without a reason" stretto status 2
status_is 3 "an answer that is not JSON" stretto status 3
status_is 3 "a token that is not there" stretto token revoke 7
is "$(cat out)" "" "is not told as revoked"
status_is 3 "a refusal" stretto status 4
is "$(cat err)" "stretto: Some detail. (some_code at /some/place)" "in the daemon's words, with code and place"
status_is 3 "a daemon that has too much to do" stretto status 5
status_is 1 "an answer that cannot be printed is no success" sh -c 'exec stretto status 6 --json >/dev/full'

# --- the token
token_of() { # NAME=VALUE...: the token that travels, or the exit status
	: >asked.headers
	if env "$@" stretto status 6 >out 2>err; then sed -n "s/^Authorization: //p" asked.headers | sort -u; else echo "exit status $?"; fi
}
printf 'from-file\r\n' >token
chmod 600 token
is "$(token_of STRETTO_TOKEN=given STRETTO_TOKEN_FILE="$T/token")" "Bearer given" "STRETTO_TOKEN is used before the file"
is "$(token_of STRETTO_TOKEN= STRETTO_TOKEN_FILE="$T/token")" "Bearer from-file" "an empty one does not count"
is "$(token_of STRETTO_TOKEN_FILE="$T/token")" "Bearer from-file" "the end of a line is no part of a token"
is "$(token_of STRETTO_TOKEN= STRETTO_TOKEN_FILE=)" "" "no token at all"
is "$(token_of STRETTO_TOKEN=$'a\nX-Other: b')" "exit status 2" "a token of two lines"
is "$(token_of STRETTO_TOKEN_FILE="$T/folder")" "exit status 2" "a folder is no token"
: >token
is "$(token_of STRETTO_TOKEN_FILE="$T/token")" "exit status 2" "nor is an empty file"
echo x >token
for mode in 640 604 660; do
	chmod $mode token
	is "$(token_of STRETTO_TOKEN_FILE="$T/token")" "exit status 2" "a file of mode $mode"
done

if [ "$(id -u)" = 0 ]; then
	chmod 600 token
	chown 12345 token
	is "$(token_of STRETTO_TOKEN_FILE="$T/token")" "exit status 2" "a file of another user"
else
	skip "a file of another user: only root can make one"
fi

# --- lists: several pages, and a cursor that does not fit into an address as it is
answers <<'E'
GET /v1/jobs?limit=500&ensemble=7&state=a%20b&adapter=c%26d 200 {"jobs": [{"id": 3, "ensemble": 7, "kind": "members", "size": 4, "adapter": "local", "state": "ended", "scheduler_id": "17", "name": "st-3", "submitted": "S", "ended": "E", "reason": "R"}], "next": "x/y z"}
GET /v1/jobs?limit=500&ensemble=7&state=a%20b&adapter=c%26d&cursor=x%2Fy%20z 200 {"jobs": [{"id": 2, "ensemble": 7, "waits_for": "Resources"}, {"id": 1, "ensemble": 7}], "next": null}
GET /v1/jobs?limit=500 200 {"jobs": [], "next": null}
E
status_is 0 "jobs, chosen in three ways" stretto jobs 7 --state 'a b' --adapter 'c&d'
is "$(sed -n 2p out | xargs)" "3 7 members 4 local ended 17 st-3 S E R" "the first page"
is "$(grep -c ensemble out) $(grep -c Resources out) $(wc -l <out)" "1 1 4" "the second one without a head, with what a job waits for"
is "$(stretto jobs 7 --state 'a b' --adapter 'c&d' --json | jq -c '[[.jobs[].id], .next]')" '[[3,2,1],null]' "--json puts them together"
is "$(stretto jobs --json)" '{"jobs": [], "next": null}' "an empty list is printed as it came"
answers <<'E'
GET /v1/jobs?limit=500 200 {"jobs": [{"id": 3}], "next": "2"}
GET /v1/jobs?limit=500&cursor=2 409 {"code": "gone", "detail": "Gone."}
E
status_is 3 "a list whose second page is refused is no success" stretto jobs --json
ok "nor a whole document" test "$(jq . out >/dev/null 2>&1; echo $?)" -ne 0

answers <<'E'
GET /v1/checkpoints?limit=500 200 {"checkpoints": []}
GET /v1/checkpoints?limit=500&ensemble=7 200 {"checkpoints": []}
GET /v1/checkpoints?limit=500&ensemble=7&member=0 200 {"checkpoints": [{"ensemble": 7, "member": 0, "step": null, "size": 12, "time": "T", "path": "/p"}]}
GET /v1/ensembles/7/members?limit=500&state=failed 200 {"members": [{"index": 3, "state": "failed", "attempts": 2, "parameters": {"a": 0.1, "b": "c d", "e": [1, true]}, "reason": "R", "last_attempt": {"host": "n1", "submitted": "2026-01-01T00:00:00Z", "started": "2026-01-01T00:00:05Z", "ended": "2026-01-01T00:01:05Z", "cpu_seconds": 30, "memory_peak": 2147483648}}, {"index": 4, "parameters": {}, "last_attempt": null}]}
E
stretto checkpoints >out
stretto checkpoints 7 >>out
status_is 0 "checkpoints" stretto checkpoints 7.0
is "$(asked)" "GET /v1/checkpoints?limit=500|GET /v1/checkpoints?limit=500&ensemble=7|GET /v1/checkpoints?limit=500&ensemble=7&member=0" \
	"of all, of an ensemble, of a member"
is "$(tail -n 1 out | xargs)" "7.0 - 12 T /p" "one without a step"
status_is 0 "members --long" stretto members 7 --state failed --long
is "$(sed -n 2p out | xargs)" "3 failed 2 - n1 5.0s 1m00s 30s 2.0 GiB a=0.1 b=c d e=[1,true] R" "with times, memory and parameters"
is "$(sed -n 3p out | xargs)" "4 0 - - - - - -" "and nothing of what is not known"

# --- what changes something: the request, the words, the exit status
asks() { # REQUEST BODY COMMAND...
	: >asked
	stretto "${@:3}" >out 2>err
	is "$? $(cat asked)" "0 $1${2:+ $2}" "${*:3}"
}
answers <<'E'
PATCH /v1/ensembles/7 200 {"id": 7, "width": 3, "members": {"submitted": 2, "running": 5}}
POST /v1/ensembles/7/pause 200 {"id": 7, "state": "paused"}
POST /v1/ensembles/7/resume 200 {"id": 7, "state": "running"}
POST /v1/ensembles/8/pause 200 {"id": 8, "state": "complete"}
POST /v1/ensembles/8/resume 200 {"id": 8, "state": "cancelled"}
POST /v1/ensembles/7/cancel 200 {"id": 7, "state": "cancelled"}
POST /v1/ensembles/8/cancel 200 {"id": 8, "state": "complete"}
POST /v1/ensembles/7/members/0/cancel 200 {"cancelled": true}
POST /v1/ensembles/7/members/1/cancel 200 {"cancelled": false, "state": "cancelled"}
POST /v1/ensembles/7/resubmit 200 {"resubmitted": 12}
POST /v1/ensembles/7/members/0/resubmit 200 {"resubmitted": 1}
GET /v1/ensembles/6 200 {"training": {"id": 30}}
GET /v1/ensembles/6/spec 200 {"name": "a", "width": 3}
POST /v1/trainings/30/resubmit 202 {"id": 30, "generation": 2, "resumed_from": "g1-s4"}
POST /v1/ensembles/7/follow-up 200 {"id": 9, "follow_up_of": 7, "count": 3, "state": "running"}
POST /v1/tokens 201 {"id": 4, "role": "reader", "token": "the-token"}
DELETE /v1/tokens/4 200 {"id": 4}
GET /v1/sessions?limit=500 200 {"sessions": [{"id": 1, "role": "reader", "token": 12, "created": "C", "expires": "E", "last_used": "L"}, {"id": 2, "role": "operator", "token": null}]}
DELETE /v1/sessions 200 {"ended": 5}
DELETE /v1/sessions/2 200 {"id": 2}
E
asks "PATCH /v1/ensembles/7" '{"width": 3, "when": "later"}' resize 7 --width 3
like "$(cat out)" '7: width 3; 7 in flight' "what is in flight is submitted or running"
asks "PATCH /v1/ensembles/7" '{"width": 1, "when": "now"}' resize 7 --width 1 --now
asks "POST /v1/ensembles/7/pause" "" pause 7
asks "POST /v1/ensembles/7/resume" "" resume 7
asks "POST /v1/ensembles/7/cancel" "" cancel 7
asks "POST /v1/ensembles/7/members/0/cancel" "" cancel 7.0
asks "POST /v1/ensembles/7/resubmit" '{}' resubmit 7
like "$(cat out)" '12 members' "and says how many"
asks "POST /v1/ensembles/7/resubmit" '{"states":["failed","unfinished"],"from":"start"}' resubmit 7 -s failed -s unfinished --from start
asks "POST /v1/ensembles/7/members/0/resubmit" '{"from":"checkpoint"}' resubmit 7.0 --from checkpoint
training="$(printf 'GET /v1/ensembles/6\nPOST /v1/trainings/30/resubmit')"
asks "$training" '{}' resubmit 6.training
is "$(cat out)" "training 30 of ensemble 6: generation 2 goes on from checkpoint g1-s4" "and says from where"
asks "$training" '{"checkpoint":"g1-s4","ranks":2,"env":{"LR":"0.1","A":"b=c"},"resources":{"walltime":"2h","queue":"q"},"command":["train","--lr","-x"]}' \
	resubmit 6.training -c g1-s4 -r 2 -e LR=0.1 --env A=b=c -t 2h -q q -- train --lr -x
asks "$training" '{"checkpoint":4,"from":"checkpoint"}' resubmit --checkpoint 4 6.training --from checkpoint
asks "GET /v1/ensembles/6/spec" "" spec 6
is "$(jq -c . out)" '{"name":"a","width":3}' "and prints it"
asks "POST /v1/ensembles/7/follow-up" '{}' follow-up 7
like "$(cat out)" 'ensemble 9 follows up 7: 3 members, running' "and names both"
asks "POST /v1/ensembles/7/follow-up" '{"states":["failed"],"width":2,"pack":3,"resources":{"walltime":"2h","queue":"q"},"adapter":"pbs"}' \
	follow-up 7 -s failed -w 2 -p 3 -t 2h -q q --adapter pbs
asks "POST /v1/tokens" '{"role": "reader", "label": "l", "expires": "1d"}' token create --role reader --label l --expires 1d
is "$(cat out)" "the-token" "nothing but the token on standard output"
asks "POST /v1/tokens" '{"role": "reader"}' token create --role reader
asks "DELETE /v1/tokens/4" "" token revoke 4
asks "DELETE /v1/sessions" "" dashboard --revoke all
like "$(cat out)" '^5 ' "and says how many"
asks "DELETE /v1/sessions/2" "" dashboard --revoke 2
asks "GET /v1/sessions?limit=500" "" dashboard --list
is "$(tail -n +2 out | xargs)" "1 reader 12 C E L 2 operator" "by which token each began"
for verb in pause resume cancel; do
	status_is 1 "$verb what is over: exit status 1" stretto $verb 8
	like "$(cat err)" 'ensemble 8 was (complete|cancelled) already' "and the reason"
	status_is 1 "$verb --json: likewise" stretto $verb 8 --json
	is "$(jq .id out)" 8 "with the answer"
done
status_is 3 "cancel what is not there" stretto cancel 99
is "$(cat out)" "" "and say nothing of it"
status_is 1 "cancel a member that is over: exit status 1" stretto cancel 7.1
like "$(cat err)" '7\.1 had ended already' "and the reason"
for line in "pause 7" "resize 7 --width 3" "cancel 7.0" "resubmit 7" "follow-up 7" "token create --role reader" "token revoke 4" "dashboard --revoke all"; do
	# shellcheck disable=SC2016,SC2086 # jq's variable, and words
	ok "$line --json prints the answer" jq -e -n --argjson answer "$(stretto $line --json)" '$answer | type == "object" and length > 0'
done

# --- links to the dashboard
answers <<'E'
POST /v1/logins 201 {"login": "the-login", "role": "operator", "session_expires": "T"}
E
jq -n --arg own "unix:$SOCKET" '{listeners: [{url: $own}, {url: "http://0.0.0.0:81"}, {url: "http://[::]:82"}, {url: "http://127.0.0.1:83"},
	{url: "https://login1:84"}]}' >"$STATE/listen.json"
asks "POST /v1/logins" '{}' dashboard
is "$(grep -o 'http.*#login=.*' out | xargs)" \
	"http://localhost:8787/#login=the-login http://127.0.0.1:83/#login=the-login https://login1:84/#login=the-login" \
	"links through a tunnel, and to each address that a browser can be given"
like "$(grep 'ssh -L' out)" "^ +ssh -L 8787:$SOCKET [^ ]+" "with the tunnel"
like "$(tail -n 1 out)" 'look and change things, until T' "and what the page may do"
asks "POST /v1/logins" '{"role": "operator", "expires": "1h"}' dashboard --operator --expires 1h --port 9000
like "$(grep 'ssh -L' out)" "ssh -L 9000:$SOCKET " "another port"
like "$(cat out)" 'http://localhost:9000/#login=the-login' "in the link, too"
rm "$STATE/listen.json"
asks "POST /v1/logins" '{}' dashboard
is "$(grep -c '#login=' out)" 1 "a daemon that says nothing of its addresses has no others"
ln -s state "$T/a state"
status_is 0 "a path that a shell would take for two words" stretto --url "unix:$T/a state/stretto.sock" dashboard
is "$(eval "set -- $(grep 'ssh -L' out)" && echo "$3")" "8787:$T/a state/stretto.sock" "is quoted"

# --- follow-up --all
answers <<'E'
POST /v1/follow-ups 200 {"follow_ups": [{"id": 5, "follow_up_of": 1, "count": 2, "state": "running"}], "refused": [{"ensemble": 2, "code": "some_code", "detail": "Some detail."}], "next": 40}
POST /v1/follow-ups 200 {"follow_ups": [{"id": 6, "follow_up_of": 41, "count": 1, "state": "running"}], "refused": [], "next": 80}
POST /v1/follow-ups 200 {"follow_ups": [], "refused": [], "next": null}
E
status_is 3 "follow-up --all: exit status 3 where one is refused, on whatever page" stretto follow-up --all --walltime 1h
is "$(cat asked)" 'POST /v1/follow-ups {"resources":{"walltime":"1h"}}
POST /v1/follow-ups {"resources":{"walltime":"1h"},"after":40}
POST /v1/follow-ups {"resources":{"walltime":"1h"},"after":80}' "page after page"
is "$(grep -o 'follows up [0-9]*' out | xargs)" "follows up 1 follows up 41" "all are told"
like "$(cat err)" 'ensemble 2 is not followed up: Some detail\. \(some_code\)' "and the refusal with its reason"
answers <<'E'
POST /v1/follow-ups 200 {"follow_ups": [], "refused": [], "next": null}
E
stretto follow-up --all >out 2>err
is "$? $(cat out err)" "0 " "nothing to follow up: nothing is said, as cron wants it"
answers <<'E'
POST /v1/follow-ups 200 {"follow_ups": [], "refused": [], "next": null}
E
exec 9>"$(find "$XDG_STATE_HOME/stretto" -name 'follow-up*.lock')"
flock 9
status_is 0 "another one that is under way does the same" stretto follow-up --all
is "$(cat asked out err)" "" "so nothing is asked or said"
status_is 0 "but that one is for another daemon" stretto --url "unix:$T/state/../state/stretto.sock" follow-up --all
is "$(asked)" "POST /v1/follow-ups" "which is asked"
exec 9>&-
"${STRETTO_PYTHON:-python3}" -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(5); print("up", flush=True)
c = s.accept(); print("asked", flush=True); time.sleep(1000)' "$T/hang.sock" >hang.out &
hanging=$!
wait_for 60 'grep -q up hang.out'
stretto --url "unix:$T/hang.sock" follow-up --all >out 2>&1 &
first=$!
wait_for 60 'grep -q asked hang.out'
status_is 0 "as long as the first one waits for its answer" timeout $((4 * PATIENCE)) stretto --url "unix:$T/hang.sock" follow-up --all
kill $first $hanging
wait $first $hanging 2>/dev/null
answers <<'E'
POST /v1/follow-ups 409 {"code": "some_code", "detail": "Some detail."}
E
status_is 3 "all refused" stretto follow-up --all
(unset XDG_STATE_HOME && stretto follow-up --all >out 2>&1)
ok "the lock is in the home directory otherwise" test -n "$(find "$HOME/.local/state/stretto" -name 'follow-up*.lock')"

# --- adapters
adapters_are() { # STATUS NAME ANSWER
	answers <<<"GET /v1/adapters 200 $3"
	status_is "$1" "adapters: $2" stretto adapters
	status_is "$1" "adapters --json: $2" stretto adapters --json
}
adapters_are 1 "one that is silent" '{"adapters": [{"name": "a", "state": "answers"}, {"name": "b", "state": "silent"}], "refused": []}'
adapters_are 1 "one that is needed and not set up" '{"adapters": [{"name": "b", "state": "not_set_up", "ensembles": 1}], "refused": []}'
adapters_are 1 "a plugin that was refused" '{"adapters": [], "refused": [{"path": "/p.so", "code": "plugin_unusable", "reason": "R"}]}'

# --- output
answers <<'E'
GET /v1/ensembles/7/members/3/stdout?follow=0 200 a
GET /v1/ensembles/7/members/3/stderr?follow=0&attempt=2 200 b
GET /v1/ensembles/7/members/3 200 {"attempts": [{}, {}, {}]}
GET /v1/ensembles/7/members/3/stdout?follow=1&attempt=3 200 c
GET /v1/ensembles/7 200 {"training": {"id": 30}}
GET /v1/ensembles/8 200 {"training": null}
GET /v1/trainings/30/stdout?follow=0&rank=0 200 d
GET /v1/trainings/30/stderr?follow=1&rank=2 200 e
GET /readyz 200 {}
E
is "$(stretto logs 7.3)$(stretto logs 7.3 -e -a 2)$(stretto logs 7.3 -f)$(stretto logs 7.training)$(stretto logs 7.training -e -r 2 -f)" \
	abcde "output of a member and a training: of an attempt, of a rank, followed"
status_is 3 "no training" stretto logs 8.training

# --- submit
answers <<'E'
POST /v1/ensembles 201 {"id": 7, "name": "n\u001b[31m", "count": 3, "notice": {"code": "adapter_silent", "text": "Slurm does not answer"}}
E
status_is 0 "submit, where the batch system does not answer" stretto submit - <<<'{"name": "n"}'
like "$(cat err)" 'warning: Slurm does not answer; ensemble 7' "warns"
is "$(cat out)" "ensemble 7 n [31m: accepted, 3 members" "and shows no name that a terminal would obey"
is "$(stretto submit --json - 2>err <<<'{"name": "n"}' | jq -c .id)" 7 "--json prints the answer alone"
jq -n -c '{name: "n", description: ("x" * 300000)}' >large.json
stretto submit large.json >out 2>&1
is "$(body_asked | cksum)" "$(cksum <large.json)" "a spec of some size arrives whole"
stretto submit - <large.json >out 2>&1
is "$(body_asked | cksum)" "$(cksum <large.json)" "by standard input, too"
mkdir -p folder/deep
jq -n -c '{members: {parameters: {file: "p.csv"}}}' >folder/deep/spec.json
(cd folder && stretto submit deep/spec.json) >out 2>&1
is "$(body_asked | jq -r .members.parameters.file)" "$T/folder/deep/p.csv" "a parameter file is beside its spec"
(cd folder && stretto submit - <deep/spec.json) >out 2>&1
is "$(body_asked | jq -r .members.parameters.file)" "$T/folder/p.csv" "or where the user is"
is "$(tr -d '\r' <asked.headers | sort -u | grep -c '^Idempotency-Key: [0-9a-f]\{32\}$')" "$(grep -c POST asked)" "each with a key of its own"

# --- a backup that is none
answers <<E
GET /healthz 200 {}
GET /v1/backup?file=$(jq -rn --arg file "$T/b.db" '$file | @uri') 200 {"this": "is no database"}
E
status_is 3 "a backup that is no database" stretto backup b.db
like "$(asked)" '/v1/backup\?file=' "the daemon is told of the file"
is "$(find . -name 'b.db*')" "" "of which nothing is left"
status_is 2 "a backup into a folder that is not there" stretto backup nowhere/b.db

stop_canned
done_testing
