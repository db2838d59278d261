#!/bin/bash
# What `stretto` asks for where it completes, follows and sends much, and what it makes of answers that are written
# down.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"
start_canned

# asks WANTED ARGUMENT...: the last request, with its body
asks() {
	stretto "${@:2}" >out 2>err
	is "$(tail -n 1 asked)" "$1" "${*:2}"
}

# --- completion. A daemon that does not answer at once is not waited for, so that it may take more than one Tab.
answers <<'E'
GET /v1/ensembles?limit=50 200 {"ensembles": [{"id": 17, "name": "n17", "state": "running"}, {"id": 1, "name": "n1", "state": "paused"}, {"id": 2, "name": "n2", "state": "complete"}]}
GET /v1/ensembles/17/members?limit=50 200 {"members": [{"index": 0, "state": "failed"}, {"index": 10, "state": "running"}, {"index": 2, "state": "running"}]}
GET /v1/adapters 200 {"adapters": [{"name": "pbs"}, {"name": "slurm"}, {"name": "slurmrestd"}]}
E
offers() { # WANTED WORD...
	local wanted=$1 words=("${@:2}")
	# shellcheck disable=SC2016 # for wait_for
	ok "offered: ${words[*]}" wait_for 10 '[ "$(stretto __complete "${words[@]}" 2>&1 | cut -f 1 | xargs)" = "$wanted" ]'
}
offers "17.10" members 17.1
offers "17 1 2" logs ''
offers "pbs slurm slurmrestd" follow-up -s failed --adapter ''
offers "" submit --state=
offers "" jobs --role=
offers "" jobs --state=x=
offers "--state=" status --st
offers "--state= --sort=" status --s
offers "--wait" submit a b --w
offers "--url=" status --u
offers "--adapter=" follow-up --ad
offers "" status --watch=
offers ":files" submit -w ''
offers "17 1 2" resize --now ''
offers "" resize -w ''
offers "" suggest 17 --name ''
offers "--url= --json" -
offers "" -x
offers "revoke" token -l x re
export STRETTO_URL=unix:$T/nowhere
offers "" status ''
offers "17 1 2" "--url=unix:$SOCKET" status ''
offers "17 1 2" --url "unix:$SOCKET" status ''
offers "17 1 2" -u "unix:$SOCKET" status ''
offers "" --json -u
offers "17 1 2" -j --url=unix:/x "--url=unix:$SOCKET" status -a ''
export STRETTO_URL=unix:$SOCKET
stretto __complete status 2 >out 2>err
is "$(cat out err)" $'2\tn2: complete' "an id is told with its name and state"

# --- events that are followed: pieces of lines, what was told before, gaps, a daemon that is away, and at last no ensemble
jq -n -c '{id: 3, time: "T3", kind: "k3", ensemble: 7, detail: {text: ("x" * 40000)}}' >third
{
	printf ': comment\n\nid: 1\nevent: k1\ndata: {"id": 1, "time": "T1", "kind": "k1", "ensemble": 7, "member": 4}\n\n'
	printf 'data: {"id": 2, "time": "T2", "kind": "k2", "ensemble": 7}\n\ndata: {"id": 3, "time": "T3"'
} >first.stream
{
	printf 'data:%s\n\ndata: {"id": 2, "time": "T2", "kind": "again", "ensemble": 7}\n\ndata: no JSON\n\n' "$(cat third)"
	printf 'data: {"id": 2, "kind": "gap", "detail": {"oldest": 9}}\n\ndata: {"id": 4, "time": "T4", "kind": "k4", "ensemble": 7}\n\n'
} >second.stream
answers <<E
GET /v1/ensembles/7 200 {"id": 7}
GET /v1/events?limit=1000&after=0&kind=k&ensemble=7 200 @$T/first.stream
GET /v1/events?limit=1000&after=2&kind=k&ensemble=7 200 @$T/second.stream
GET /v1/events?limit=1000&after=4&kind=k&ensemble=7 503 {"code": "busy", "detail": "Too much to do."}
GET /v1/events?limit=1000&after=4&kind=k&ensemble=7 503 {"code": "tcp_busy", "detail": "Too much to do."}
GET /v1/events?limit=1000&after=4&kind=k&ensemble=7 200 
GET /v1/events?limit=1000&after=4&kind=k&ensemble=7 404 {"code": "some_code", "detail": "Some detail."}
E
status_is 3 "following ends where the daemon refuses" stretto events 7 --follow --kind k
is "$(sed -E 's/  +/ /g; s/ +$//' out | sed "s/$(printf 'x%.0s' {1..1000})/M/g")" "1 T1 7.4 k1
2 T2 7 k2
3 T3 7 k3 {\"text\":\"$(printf 'M%.0s' {1..40})\"}
4 T4 7 k4" "each event is told once, and whole"
is "$(grep -c 'trying until' err) $(grep -c 'events before 9 ' err) $(grep -c 'Some detail' err)" "1 1 1" "and once that the daemon is away, and what is not kept"
is "$(tail -n 1 asked)" "GET /v1/events?limit=1000&after=4&kind=k&ensemble=7" "the stream goes on behind the last one"
answers <<E
GET /v1/events?limit=1&after=4611686018427387903 200 {"newest": 2}
GET /v1/events?limit=1000&after=2 200 @$T/second.stream
GET /v1/events?limit=1000&after=4 404 {"code": "some_code", "detail": "Some detail."}
E
stretto events --follow --after now --json >out 2>err
is "$(jq -c '[.id, .kind]' out)" $'[3,"k3"]\n[4,"k4"]' "from now on, for programs"
is "$(sed -n 1p out)" "$(jq -c . third)" "as objects of the API"
answers <<E
GET /v1/events?limit=1&after=4611686018427387903 409 {"code": "some_code", "detail": "Some detail."}
E
status_is 3 "nothing is followed where the newest is not known" stretto events --follow --after now
is "$(wc -l <asked)" 1 "so no stream is asked for"

# interrupted REQUEST COMMAND...: Ctrl-C, once that was asked for
interrupted() {
	: >asked
	"${@:2}" >out 2>err &
	local child=$!
	wait_for 30 "grep -qF '$1' asked"
	kill -INT $child
	wait_for 30 "! kill -0 $child" || kill -KILL $child
	wait $child
	is $? 130 "Ctrl-C ends it: ${*:2}"
}
answers <<'E'
GET /v1/events?limit=1000&after=0 503 {"code": "busy", "detail": "Too much to do."}
GET /v1/ensembles/7 200 {"id": 7, "state": "running", "count": 2, "members": {"running": 1, "succeeded": 1}}
GET /v1/ensembles/7/results?limit=500&after=0 503 {"code": "busy", "detail": "Too much to do."}
GET /v1/ensembles/8/members/3 200 {"attempts": [{}]}
GET /v1/ensembles/8/members/3/stdout?follow=1&attempt=1 503 {"code": "not_ready", "detail": "D"}
E
interrupted "after=0" stretto events --follow
interrupted "results" stretto results 7 --follow
interrupted "stdout" stretto logs 8.3 --follow
interrupted "ensembles/7" stretto wait 7
like "$(cat err)" 'stretto wait 7' "and says how to come back"
is "$(grep -c -- '--url' err)" 0 "as it was called"
interrupted "ensembles/7" stretto --url "unix:$T/state/../state/stretto.sock" wait 7
like "$(cat err)" "stretto --url unix:$T/state/../state/stretto.sock wait 7" "also where --url said which daemon"
interrupted "ensembles/7" stretto status 7 --watch

# --- results that are followed
answers <<'E'
GET /v1/ensembles/7 503 {"code": "busy", "detail": "Too much to do."}
GET /v1/ensembles/7 200 {"id": 7, "state": "running", "count": 2, "members": {"running": 1, "succeeded": 1}}
GET /v1/ensembles/7 200 {"id": 7, "state": "complete", "count": 2, "members": {"succeeded": 2}}
GET /v1/ensembles/7/results?limit=500&after=3 200 {"results": [{"number": 4, "ensemble": 7, "index": 0, "state": "succeeded"}], "next": 4}
GET /v1/ensembles/7/results?limit=500&after=4 200 {"results": [], "next": 4}
GET /v1/ensembles/7/results?limit=500&after=4 200 {"results": [{"number": 5, "ensemble": 7, "index": 1, "state": "succeeded"}], "next": 5}
GET /v1/ensembles/7/results?limit=500&after=5 200 {"results": [], "next": 5}
E
status_is 0 "results are followed to the end" stretto results 7 --follow --after 3
is "$(values <out)" $'4 7.0 succeeded\n5 7.1 succeeded' "each once"
is "$(tail -n 1 asked)" "GET /v1/ensembles/7/results?limit=500&after=5" "and what came just before the end was looked for after it"
: >asked
is "$(stretto results 7 -f -a 3 --json | jq -c '[.number, .index]' | xargs)" "[4,0] [5,1]" "for programs, too"
answers <<'E'
GET /v1/ensembles/7 200 {"id": 7, "state": "running", "count": 1, "members": {"running": 1}}
GET /v1/ensembles/7/results?limit=500&after=0 409 {"code": "some_code", "detail": "Some detail."}
E
status_is 3 "not those that are refused" stretto results 7 --follow
status_is 3 "nor of an ensemble that is not there" stretto results 8 --follow
status_is 3 "nor without --follow" stretto results 8

# --- output that is followed over a daemon that is away
answers <<'E'
GET /v1/ensembles/8/members/3/stdout?follow=1&attempt=2 503 {"code": "not_ready", "detail": "D"}
GET /v1/ensembles/8/members/3/stdout?follow=1&attempt=2 200 tail
GET /readyz 503 {"code": "not_ready", "detail": "D"}
GET /readyz 200 {}
E
status_is 0 "output comes once the daemon is ready" stretto logs 8.3 --follow --attempt 2
is "$(cat out) $(grep -c 'trying until' err) $(grep -c 'daemon is back' err)" "tail 1 1" "which is said once"

# --- suggestions
answers <<'E'
POST /v1/ensembles/7/suggestions 200 {"suggestions": [{"index": 4, "name": "s4", "new": true}]}
E
said() { jq -c ${JQ_SORTS:+-S} . <<<"$(body_asked)"; }
stretto suggest 7 -n me -p -3 a=1 b=x c=null d='"1"' e=true f= 'g=[1,2]' 'h=i=j' >out
is "$(said)" '{"suggestions":[{"name":"me","parameters":{"a":1,"b":"x","c":"null","d":"1","e":true,"f":"","g":[1,2],"h":"i=j"},"priority":-3}]}' "one suggestion"
stretto suggest 7 --priority 5 a=1 >out
is "$(said)" '{"suggestions":[{"parameters":{"a":1},"priority":5}]}' "without a name"
printf '%s\n' '{"a": 1}' '' '  ' '{"parameters": {"a": 2}, "name": "n", "priority": 4}' '{"parameters": 3}' >lines
stretto suggest 7 --file lines >out
is "$(said)" '{"suggestions":[{"parameters":{"a":1}},{"name":"n","parameters":{"a":2},"priority":4},{"parameters":{"parameters":3}}]}' "those of a file"
stretto suggest 7 -f - <lines --json >out
is "$(said | jq '.suggestions | length') $(jq -c '.suggestions[0].index' out)" "3 4" "of standard input, for programs"
: >asked
seq 2500 | sed 's/.*/{"a": &}/' >many
stretto suggest 7 -f many >out
is "$(cut -d ' ' -f 3- asked | jq -c '.suggestions | [length, .[0].parameters.a]' | xargs) $(wc -l <out)" "[1000,1] [1000,1001] [500,2001] 3" "in pieces"
: >asked
printf '%s\n' '{"a": 1}' '{"a": 1, "a": 2}' >twice
status_is 2 "a key that is there twice" stretto suggest 7 -f twice
like "$(cat err)" 'twice:2:' "by its line"
printf '%s\n' '[1]' >list
status_is 2 "a line that is no object" stretto suggest 7 -f list
like "$(cat err)" 'list:1: ' "by its line, too"
status_is 2 "a file that is not there" stretto suggest 7 -f nothing
status_is 2 "a file that cannot be read" stretto suggest 7 -f .
is "$(cat asked)" "" "of which nothing is sent"
for words in "-f lines" "x a=1" "7 x" "7 =1" "7 a=1 a=2" "7 -f lines a=1" "7 -f lines -n x" "7 -f lines -p 0" "7 -p x a=1" "7 -p --1 a=1" "7"; do
	# shellcheck disable=SC2086 # words
	status_is 2 "wrong usage: suggest $words" stretto suggest $words
done
status_is 2 "what is not UTF-8" stretto suggest 7 $'a=\xff'

# --- other requests, by what is chosen
answers <<'E'
GET /v1/ensembles/7 200 {"id": 7, "training": {"id": 30}}
GET /v1/ensembles/8 200 {"id": 8, "training": null}
PATCH /v1/trainings/30 200 {"id": 30, "ranks": 1, "wanted_ranks": 4}
PATCH /v1/trainings/30 200 {"id": 30, "ranks": 2, "wanted_ranks": 1}
PATCH /v1/trainings/30 200 {"id": 30, "ranks": 3, "wanted_ranks": 0}
PATCH /v1/trainings/30 200 {"id": 30, "ranks": 1, "wanted_ranks": 0}
PATCH /v1/ensembles/7 200 {"id": 7, "width": 5, "members": {"submitted": 2, "running": 3}}
POST /v1/ensembles/7/close 200 {"id": 7, "count": 9, "members": {"running": 3, "succeeded": 4, "failed": 1}}
GET /v1/checkpoints?limit=500&training=30 200 {"checkpoints": [], "next": null}
E
asks 'PATCH /v1/trainings/30 {"ranks": 4}' resize 7 --ranks 4
is "$(values <out)" "30 4 1" "ranks that are wanted, and those that are"
stretto resize 7 -r 4 >out
is "$(values <out)" "30 1 2" "fewer ranks"
stretto resize 7 -r 4 >out
is "$(values <out)" "30 3" "as many as there are"
is "$(stretto resize 7 -r 4 --json | jq -c .)" '{"id":30,"ranks":1,"wanted_ranks":0}' "for programs"
asks 'PATCH /v1/trainings/30 {"ranks": 4}' resize 7 --ranks 4 --width 5 --now
is "$(values <out)" $'7 5 5\n30 1' "both"
is "$(sed -n 1p asked)" 'GET /v1/ensembles/7' "of the training that it has"
is "$(grep -c '^PATCH /v1/ensembles/7 {"width": 5, "when": "now"}$' asked)" 1 "and the width, at once"
status_is 3 "ranks without a training" stretto resize 8 --ranks 4
status_is 2 "no ranks now" stretto resize 7 --ranks 4 --now
asks 'POST /v1/ensembles/7/close' close 7
is "$(values <out)" "7 9 4" "how many there are, and how many of them go on"
is "$(stretto close 7 --json | jq .count)" 9 "for programs"
status_is 3 "close what is not there" stretto close 8
asks 'GET /v1/checkpoints?limit=500&training=30' checkpoints 7.training
status_is 3 "checkpoints of a training that is not there" stretto checkpoints 8.training
status_is 3 "hosts of one" stretto hosts 8.training
for words in "jobs 8" "checkpoints 8" "rungs 8" "spec 8" "adapters" "metrics 9" "token list" "pause 8" "cancel 8.1" "top 9" "results 8" "wait 9" "status 9" "report 9" "logs 9.1"; do
	# shellcheck disable=SC2086 # words
	status_is 3 "what is not there: $words" stretto $words
done
members='GET /v1/ensembles/7/members?limit=500'
asks "$members&from=3&to=9&host=a%20b&cause=c%2Bd" members 7 --from 3 --to 9 --host 'a b' --cause c+d
where() { # WANTED WORD...: the parameters that are wanted
	stretto members 7 "${@:2}" >out 2>err
	is "$(sed -n '$ s/.*&where=//p' asked | sed 's/%/\\x/g' | xargs -0 printf '%b' | jq -c ${JQ_SORTS:+-S} .)" "$1" "where ${*:2}"
}
where '{"a":1}' -w a=1
where '{"a":"x","b":true,"c":"null","d":[1,2],"e":""}' -w a=x --where b=true -w c=null -w 'd=[1,2]' -w e=
where '{"a":[1,2.5],"b":[null,3],"c":[4,null],"d":"..","e":"1..x","f":"x..1"}' -w a=1..2.5 -w b=..3 -w c=4.. -w d=.. -w e=1..x -w f=x..1
where '{"a":"b=c"}' -w a=b=c
for words in "-w a" "-w =1" "-w a=1 -w a=2" "--descending" "--metric a,b" "--long --state x --from" "--metric "; do
	# shellcheck disable=SC2086 # words
	status_is 2 "wrong usage: members 7 $words" stretto members 7 $words
done
for words in "-w a=1" "--metric l" "--sort l" "--from 1" "--to 1" "--host h" "--cause c"; do
	# shellcheck disable=SC2086 # words
	status_is 2 "not with one member: $words" stretto members 7.1 $words
done

# --- a backup
{ printf 'SQLite format 3\0' && head -c 70000 /dev/zero; } >whole
printf 'SQLite format 4\0and more' >other
head -c 15 whole >cut
from() { printf 'GET /v1/backup?file=%s 200 @%s\n' "$(jq -rn --arg file "$1" '$file | @uri')" "$T/$2"; }
mkdir -p sub
answers <<E
GET /healthz 200 {}
$(from "$T/a.db" whole)
$(from "$T/sub/b.db" whole)
$(from "/b.db" whole)
$(from "$T/other.db" other)
$(from "$T/cut.db" cut)
E
status_is 0 "a backup" stretto backup a.db
is "$(cat out)" "a.db" "says where it is"
ok "and is what the daemon sent" cmp a.db whole
is "$(stat -c %a a.db)" 600 "for nobody else"
is "$(stretto backup sub/b.db --json)" '{"file":"sub/b.db"}' "for programs"
is "$(tail -n 1 asked)" "$(from "$T/sub/b.db" whole | cut -d ' ' -f 1-2)" "the daemon is told of the whole path"
echo mine >a.db
status_is 2 "it replaces nothing" stretto backup a.db
is "$(cat a.db)" mine "indeed"
status_is 0 "but by force" stretto backup --force a.db
ok "which is the new one" cmp a.db whole
ln -s a.db link
status_is 2 "a link is not replaced by force either" stretto backup --force link
ok "and stays" test -L link
status_is 2 "a file without a name" stretto backup ''
for name in other.db cut.db; do
	status_is 3 "no whole backup: $name" stretto backup $name
	ok "of which nothing is left" test ! -e $name
done
is "$(find . -name '*.db.??????')" "" "nor a part"
answers <<<'GET /healthz 200 {}'
status_is 3 "none of a daemon that refuses" stretto backup c.db
is "$(find . -name 'c.db*')" "" "and nothing of it is left"
answers </dev/null
status_is 3 "nor of one that is not well" stretto backup c.db
is "$(asked)" "GET /healthz" "which is asked first"

stop_canned
done_testing
