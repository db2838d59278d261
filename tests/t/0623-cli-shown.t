#!/bin/bash
# What `stretto` shows, on terminals and without one, and submits: of files beside a spec, of curves, of reports, and of
# help.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/canned.sh
. "$srcdir/tests/t/canned.sh"
terminal() { "${STRETTO_PYTHON:-python3}" "$srcdir/tests/t/terminal.py" "$@"; }
start_canned

# --- help, and what is no command
is "$(stretto --help | sed -n 's/^  \([a-z-]*\) .*/\1/p' | xargs)" "$(stretto __complete '' | cut -f 1 | xargs)" "--help has all commands"
like "$(stretto --help | sed -n '/^  hosts/,+1p' | xargs)" '^hosts ID\.INDEX\|ID\.training the hosts' "with their arguments, and what they do"
like "$(stretto resume --help)" '^Usage: stretto resume ' "a command has its own"
status_is 2 "an option before it that is none" stretto --frobnicate status
status_is 2 "an option behind it that is none" stretto status --frobnicate
stretto frobnicate --help >out 2>&1
is $? 2 "nor has it help"

# --- curves of characters, each of 2 x 4 dots
buckets='{"step": 0, "last_step": 0, "min": null, "max": 100}, {"step": 1, "last_step": 3, "min": 0, "max": 50}, {"step": 4, "last_step": 4, "min": 0, "max": null, "not_finite": 7}, {"step": 39, "last_step": 39, "min": 20, "max": 20}'
answers <<E
GET /v1/ensembles/7 200 {"id": 7, "training": {"id": 30, "metrics": {"l": 1, "m": 2, "n": 3, "o": 4}}}
GET /v1/trainings/30/metrics?name=l&buckets=40 200 {"series": {"l": {"buckets": [$buckets]}}}
GET /v1/trainings/30/metrics?name=n&buckets=40 200 {"series": {"n": {"buckets": [{"step": 5, "last_step": 9, "min": null, "max": null, "not_finite": 2}]}}}
GET /v1/trainings/30/metrics?name=o&buckets=40 200 {"series": {}}
GET /v1/trainings/30/metrics?name=l&buckets=20 200 {"series": {"l": {"buckets": [$buckets]}}}
E
is "$(LC_ALL=C.UTF-8 terminal 30 20 stretto metrics 7 l --log | sed 's/ *$//')" "$(cat <<'E'
l (logarithmic)
     100 │⠁
         │
         │
         │
         │
         │ ⠁
    41.6 │
         │
         │
         │
         │
      20 │                   ⢀
     step 0                 39
          7 of its points are
not finite
E
)" "on a logarithmic axis, without what has no place there"
is "$(LC_ALL=C.UTF-8 terminal 30 20 stretto metrics 7 n --plot | values)" "2
not-finite" "nothing to be drawn"
is "$(LC_ALL=C terminal 20 20 stretto metrics 7 l --plot | wc -L)" 20 "as wide as a narrow terminal"
status_is 3 "of a series that is not there" stretto metrics 7 o
answers <<E
GET /v1/ensembles/7 200 {"id": 7, "name": "n7", "state": "running", "count": 8, "members": {"pending": 4, "running": 1, "failed": 2}, "training": {"id": 30, "metrics": {"a": 1, "train_loss": 2}}}
GET /v1/ensembles/8 200 {"id": 8, "name": "n8", "state": "running", "count": 0, "members": {}, "training": {"id": 31, "metrics": {"a b": 1, "c": 2}}}
GET /v1/trainings/30/metrics?name=train_loss&buckets=70 200 {"series": {"train_loss": {"buckets": [{"step": 0, "last_step": 0, "min": 4, "max": 4}, {"step": 9, "last_step": 9, "min": 1, "max": 1}]}}}
GET /v1/trainings/31/metrics?name=a%20b&buckets=70 200 {"series": {"a b": {"buckets": [{"step": 0, "last_step": 0, "min": 4, "max": 4}]}}}
GET /v1/ensembles?state=running,paused&limit=8 200 {"ensembles": [{"id": 7, "name": "n7", "state": "running", "count": 3, "members": {"running": 2, "failed": 1}, "notice": null}], "next": null}
GET /v1/ensembles?state=running,paused&limit=1000 200 {"ensembles": [], "next": null}
E
LC_ALL=C stretto top 7 >out
is $? 0 "top without a terminal"
is "$(head -n 1 out)" "[$(printf 'p%.0s' {1..39})$(printf 'r%.0s' {1..9})$(printf 'f%.0s' {1..20})          ]" "top has a bar of the members by state"
is "$(grep -c '|' out) $(grep -A 1 'train_loss$' out | sed -n 2p | xargs)" "10 4 |*" "and the curve of the loss, as high as there is room"
LC_ALL=C stretto top 8 >out
is "$(head -n 1 out)" "[$(printf '%78s' '')]" "no members, no bar"
is "$(grep -c '^a b$' out)" 1 "where there is no loss, the first metric"
stretto top >out
is "$(tail -n 1 asked)" "GET /v1/ensembles?state=running,paused&limit=1000" "or without a terminal"
status_is 3 "top of what is not there" stretto top 9

# --- submitted
answers <<'E'
POST /v1/ensembles 201 {"id": 7, "name": "a", "count": 1}
POST /v1/ensembles 201 {"id": 8, "name": "b", "count": 2, "after": 7}
POST /v1/ensembles 201 {"id": 9, "name": "c", "count": 0, "open": true}
POST /v1/ensembles 409 {"code": "some_code", "detail": "Some detail."}
E
for name in a b c d; do echo "{\"name\": \"$name\"}" >$name.json; done
status_is 3 "several, of which one is refused" stretto submit a.json b.json c.json d.json b.json
is "$(cut -d ' ' -f 3- asked | jq -c ${JQ_SORTS:+-S} . | xargs -d '\n')" '{"name":"a"} {"after":{"ensemble":7},"name":"b"} {"after":{"ensemble":8},"name":"c"} {"after":{"ensemble":9},"name":"d"}' \
	"each after the one before"
is "$(values <out)" $'7 1\n8 2 7\n9' "those that are accepted are told"
like "$(cat err)" 'd\.json .* 9, ' "and the one that is not, and which go on"
echo '{"after": {"ensemble": 1}}' >after.json
: >asked
status_is 2 "one that is after another already" stretto submit --after 5 after.json
is "$(cat asked)" "" "is not submitted"
stretto submit after.json --json >out
is "$(body_asked)$(jq -c .id out)" '{"after": {"ensemble": 1}}7' "but by itself"
stretto submit --after 5 a.json >out 2>&1
is "$(body_asked | jq -c ${JQ_SORTS:+-S} .)" '{"after":{"ensemble":5},"name":"a"}' "after one that is said"
answers <<'E'
POST /v1/ensembles 201 {"id": 7, "name": "a", "count": 1, "notice": {"code": "fair_share", "text": "T"}}
E
stretto submit a.json >out 2>err
is "$(cat err)" "" "of what passes by itself is not warned"
status_is 2 "17 specs" stretto submit a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a

# --- the files that rules name
mkdir -p rules/deep
printf abc >rules/deep/f1
printf '' >rules/f2
head -c 3000000 /dev/zero >rules/f3
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
jq -n -c --arg f "$T/rules/f2" '{rules: {reference: "deep/ref.json", may_vary: ["lr"], files: ["deep/f1", $f, {path: "x", sha256: "y"}, "f3"]}}' >rules/spec.json
jq -n --arg s "$(sum rules/deep/f1)" '{name: "ours", rules: {reference: {name: "older"}, may_vary: ["x"], files: [{path: "f1", sha256: $s}]}}' >rules/deep/ref.json
answers <<<'POST /v1/ensembles 201 {"id": 7, "name": "a", "count": 1}'
wanted=$(jq -n -c ${JQ_SORTS:+-S} --arg d "$T/rules" --arg f "$T/rules/f2" --arg s1 "$(sum rules/deep/f1)" --arg s2 "$(sum rules/f2)" --arg s3 "$(sum rules/f3)" '{rules: {reference: {name: "ours", rules: {files: [{path: "f1", sha256: $s1}], may_vary: ["x"]}}, may_vary: ["lr"],
	files: [{path: "deep/f1", at: "\($d)/deep/f1", sha256: $s1}, {path: $f, at: $f, sha256: $s2}, {path: "x", at: "\($d)/x", sha256: "y"}, {path: "f3", at: "\($d)/f3", sha256: $s3}]}}')
for name in rules/spec.json "$T/rules/spec.json" ./rules/spec.json; do
	stretto submit $name >out 2>err
	is "$(body_asked | jq -c ${JQ_SORTS:+-S} .)" "$wanted" "files are told by what is in them: $name"
done
(cd rules && stretto submit - <spec.json >../out 2>&1)
is "$(body_asked | jq -c ${JQ_SORTS:+-S} .)" "$wanted" "from where the user is"
: >asked
refused() { # WHERE NAME RULES
	jq -n -c "{rules: $3}" >rules/bad.json
	status_is 2 "$2" stretto submit rules/bad.json
	like "$(cat err)" "$1" "and where"
}
refused "/rules/files/1: .*/rules/nothing" "a file that is not there" '{files: ["f2", "nothing"]}'
refused "/rules/files/0: .*/rules/deep" "one that is none" '{files: ["deep"]}'
refused "/rules/reference: " "a reference that is not there" '{reference: "nothing"}'
echo '{"a": 1, "a": 2}' >rules/deep/twice.json
refused "rules/deep/twice.json:1:[0-9]+: " "one that has a key twice" '{reference: "deep/twice.json"}'
echo '{"rules": {"files": ["gone"]}}' >rules/deep/gone.json
refused "/rules/reference: .*/rules/deep/gone.json does not say the SHA-256 of" "one without the SHA-256 of its files" '{reference: "deep/gone.json"}'
is "$(cat asked)" "" "of which nothing is sent"
echo '{"rules": {"reference": {"rules": {"files": ["f"]}}}}' >rules/own.json
stretto submit rules/own.json >out 2>&1
is "$(body_asked)" '{"rules": {"reference": {"rules": {"files": ["f"]}}}}' "a reference that is there itself is as it was"
echo '{"rules": 3}' >rules/three.json
stretto submit rules/three.json >out 2>&1
is "$(body_asked)" '{"rules": 3}' "what are no rules is for the daemon to refuse"
status_is 2 "a folder that is not there" stretto submit rules/gone/spec.json

# --- a report of repetitions, in several attempts, of those that are accepted
moment() { printf '2026-01-01T00:%02d:00Z' "$1"; }
run() { # INDEX LR SEED LAST ACC ATTEMPTS
	jq -n -c --argjson i "$1" --arg lr "$2" --argjson seed "$3" --argjson last "$4" --argjson acc "$5" --argjson n "$6" '{index: $i, state: "succeeded", attempts: $n, parameters: {lr: $lr, seed: $seed}, resources: {tasks: $seed},
		metrics: {loss: {last: $last, points: 2}, acc: {last: $acc}}, last_attempt: {started: "2026-01-01T00:20:00Z", ended: "2026-01-01T00:30:00Z"}}'
}
points() { echo "GET /v1/ensembles/$1/members/$2/points?name=loss&limit=5000 200 {\"points\": [{\"step\": 1, \"attempt\": $3, \"time\": \"$(moment "$4")\", \"value\": 4}, {\"step\": 2, \"attempt\": $5, \"time\": \"$(moment "$6")\", \"value\": $7}], \"next\": null}"; }
answers <<E
GET /v1/ensembles/7/spec 200 {"members": {"resources": {"tasks": "{seed}", "cpus_per_task": "2"}}}
GET /v1/ensembles/9/spec 200 {"members": {"resources": {"tasks": "{seed}"}}}
GET /v1/ensembles/7/members?limit=500&metrics=loss,acc 200 {"members": [$(run 0 a 1 2 0.9 1), $(run 1 a 2 1 0.8 2), $(run 2 b 1 3 0.74 1), $(run 3 b 2 5 0.5 1)], "next": null}
GET /v1/ensembles/9/members?limit=500&metrics=loss,acc 200 {"members": [$(run 0 c 1 0.5 0.75 1)], "next": null}
GET /v1/ensembles/7/members?limit=500&metrics=loss 200 {"members": [$(run 0 a 1 2 0.9 1), $(run 1 a 2 1 0.8 2), $(run 2 b 1 3 0.74 1), $(run 3 b 2 5 0.5 1)], "next": null}
GET /v1/ensembles/9/members?limit=500&metrics=loss 200 {"members": [$(run 0 c 1 0.5 0.75 1)], "next": null}
GET /v1/ensembles/7/members/1 200 {"index": 1, "attempts": [{"number": 1, "started": "$(moment 0)", "ended": "$(moment 10)"}, {"number": 2, "started": "$(moment 20)", "ended": "$(moment 35)"}, {"number": 3, "started": "$(moment 40)", "ended": "$(moment 59)"}]}
GET /v1/ensembles/7/members/0 200 {"index": 0}
GET /v1/ensembles/9/members/0 200 {"index": 0, "artefacts": [{"path": "m", "size": 3, "sha256": "s1"}]}
GET /v1/ensembles/7/members/2 200 {"index": 2, "artefacts": []}
$(points 7 0 1 21 1 25 2)
$(points 7 1 1 5 2 25 1)
$(points 7 2 1 22 1 28 3)
$(points 7 3 1 22 1 28 5)
$(points 9 0 1 21 1 24 0.5)
E
prints "report 7 --repeat seed" report 7 --repeat seed <<'E'
1 7.0… 2 885 106.066 1.5 0.707107 1.5 0.707107 - 15m00s 7m04s
2 7.2… 2 1440 254.558 4 1.41421 3.5 0.707107 - 10m00s 0.0s
6m00s
2 4
ranked 4 3 0
4 3 0
E
prints "report 7 9 --accept acc>=0.74" report 7 9 --accept 'acc>=0.74' <<'E'
1 7.0 seed=1 1 840 2 2 - 10m00s
2 7.2 seed=1 1 - 3 3 - 10m00s
3 9.0 seed=1 1 465 0.5 0.5 - 10m00s
4 7.1 seed=2 1 750 1 1 - 20m00s
5m00s
2 3
ranked 0.74
ranked
7.3 seed=2 5
ranked 4 2.5 0
1 0.6667 0
5 3.167 0
E
prints "report 7 9 --repeat seed --group ensemble --target 2 --horizon 8m" report 7 9 --repeat seed --group ensemble --target 2 --horizon 8m <<'E'
1 9.0 1 555 0.5 0.5 4m00s 10m00s
2 7.0… 2 1065 190.919 1.5 0.707107 1.5 0.707107 7m30s 3m32s 15m00s 7m04s
3 7.2… 2 1920 424.264 4 1.41421 3.5 0.707107 - 10m00s 0.0s
8m00s
5 5
2
ranked
7 2 2 7.0 1065 190.919 1.5 0.707107 1.5 0.707107 7m30s 3m32s 15m00s 7m04s - -
9 1 1 9.0 555 0.5 0.5 4m00s 10m00s - -
7
SHA-256
9.0 3 s1
ranked 5 3.167 0
5 3.167 0
E
for words in "7 --repeat x" "7 --group x"; do
	# shellcheck disable=SC2086 # words
	status_is 3 "a parameter that no member has: $words" stretto report $words
done
for words in "7 --by x" "7 --accept acc" "7 --accept =0.7" "7 --accept acc>=x" "7 --accept acc>=" "7 --accept acc>=1x" "7 --accept acc>=inf" "7 --target x" "7 --target 1x" "7 --target nan" "7 --horizon 0s" "7 --mllog" "7.1" "7.1 7.2 --mllog" "7 7.1 --mllog" "7 --set a=b" \
	"7.1 --mllog --set a" "7 --html --csv --top -1"; do
	# shellcheck disable=SC2086 # words
	status_is 2 "wrong usage: report $words" stretto report $words
done

# --- tables on terminals
long=$(printf 'n%.0s' {1..60})
answers <<E
GET /v1/ensembles?limit=200 200 {"ensembles": [{"id": 7, "name": "$long", "state": "running", "count": 12, "members": {"running": 2, "failed": 10}, "training": null, "created": "C"}, {"id": 1234, "name": "水水水水水水水水水水水水水水水水水水水水", "state": "complete", "count": 1, "members": {"succeeded": 1}, "training": {"state": "done"}, "created": "a long time ago"}], "next": null}
GET /v1/events?limit=1000&after=0 200 {"events": [{"id": 1, "time": "T", "kind": "k", "ensemble": 7, "detail": {"a": "0123456789"}}, {"id": 2, "time": "T", "kind": "k", "ensemble": 7, "detail": {"a": "0123456"}}, {"id": 3, "time": "T", "kind": "k", "ensemble": 7}], "next": null}
E
on() { LC_ALL=C.UTF-8 terminal "$1" 20 "${@:2}" | sed 's/ *$//'; }
is "$(on 70 stretto status)" "$(cat <<'E'
  id  name      state     members  running  failed  training  eta  cr…
   7  nnnnnnn…  running     10/12        2      10  -           -  C
1234  水水水…  complete      1/1        0       0  done        -  a …
E
)" "the widest columns of text are cut until a row fits"
is "$(on 55 stretto events)" "$(cat <<'E'
1  T  7            k                    {"a":"01234567…
2  T  7            k                    {"a":"0123456"}
3  T  7            k
E
)" "what belongs to an event is cut, and nothing else"

# --- a tunnel to where the user's own ssh has come
answers <<<'POST /v1/logins 201 {"login": "L", "role": "reader", "session_expires": "T"}'
for server in 10.0.0.9 fe80::1 127.0.0.1 ::1 'x;y' '-oProxyCommand=x'; do
	SSH_CONNECTION="10.0.0.1 5000 $server 22" stretto dashboard >out
	echo "$server $(grep -c "ssh -L.*[@ ]$server$" out)"
done >tunnels
is "$(cat tunnels)" $'10.0.0.9 1\nfe80::1 1\n127.0.0.1 0\n::1 0\nx;y 0\n-oProxyCommand=x 0' "by that address, where others can reach it"
SSH_CONNECTION="10.0.0.1 5000" stretto dashboard >out
is "$(grep -c "ssh -L.*[@ ]$(uname -n)$" out)" 1 "else by the name of this machine"

# --- top on a terminal: what is not there any more is not shown any more, and a daemon that is busy is asked again
running() { echo "{\"id\": $1, \"name\": \"n$1\", \"state\": \"running\", \"count\": 3, \"members\": {}}"; }
listed() { answers <<<"GET /v1/ensembles?state=running,paused&limit=8 200 {\"ensembles\": [$1]}"; }
: >said
listed "$(running 7), $(running 8)"
# orders, each after the answer to the one before
order() { asked_for=$((${asked_for:-0} + 1)) && echo "$1" && wait_for 30 "[ \$(wc -l <said) -ge $asked_for ]"; }
{
	order "until n8"
	listed "$(running 7)"
	order "gone n8"
	answers <<<'GET /v1/ensembles?state=running,paused&limit=8 503 {"code": "busy", "detail": "Too much to do."}'
	order "until Too much to do"
	listed "$(running 9)"
	order "until n9"
	answers <<<'GET /v1/ensembles?state=running,paused&limit=8 409 {"code": "some_code", "detail": "Some detail."}'
	order "until Some detail"
} | "${STRETTO_PYTHON:-python3}" "$srcdir/tests/t/pty_session.py" 100 10 stretto top >bytes 2>said
is "$(cut -d ' ' -f 1-5 said | xargs)" "ok ok ok ok ok exit 3 wrapped 0 modes" "top shows what there is, until it is refused"
like "$(tail -n 1 said)" "modes kept" "and leaves the terminal as it was"

stop_canned
done_testing
