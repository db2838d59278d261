#!/usr/bin/env bash
# Events as they come: in order, resumed over a killed daemon without gap or repeat, filtered, forgotten with a word;
# many clients, clients that do not read; and output that is followed while it is written.
TEST_LIMIT=240 MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh"

export ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=4 # what is freed is not to look like growth
echo '{"heartbeat": "1s", "adapters": {"local": {"slots": 60}}}' >"$T/config.json"
start_daemon --config "$T/config.json"

cat >"$T/sse.py" <<'X'
# A client of event streams, by hand: what the daemon sends is what is looked at.
import json, resource, selectors, socket, sys, time
path = sys.argv[1]
MANY = 400  # heartbeats, of a second each

def connect(query="", last=None, target="/v1/events"):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(MANY)
    s.connect(path)
    seen = f"Last-Event-ID: {last}\r\n" if last is not None else ""
    s.sendall(f"GET {target}{query} HTTP/1.1\r\nHost: stretto\r\nAccept: text/event-stream\r\n{seen}\r\n".encode())
    return s

class Stream:
    def __init__(self, *args, **kw):
        self.s, self.buffer, self.body, self.comments, self.status = connect(*args, **kw), b"", b"", 0, None
    def read(self):  # more bytes into body; False at the end
        data = self.s.recv(65536)
        self.buffer += data
        if self.status is None and b"\r\n\r\n" in self.buffer:
            head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
            self.status = int(head.split()[1])
        if self.status is not None:
            self.body, self.buffer = self.body + self.buffer, b""
        return bool(data)
    def blocks(self):  # those that are whole, but comments
        *blocks, self.body = self.body.split(b"\n\n")
        self.comments += sum(block.startswith(b":") for block in blocks)
        return [block for block in blocks if not block.startswith(b":")]
    def events(self):
        out = []
        for block in self.blocks():
            fields = dict(l.split(": ", 1) for l in block.decode().split("\n"))
            if "data" in fields:
                event = json.loads(fields["data"])
                assert str(event["id"]) == fields["id"] and event["kind"] == fields["event"], fields
                out.append(event)
        return out
    def until(self, kind, ensemble, tell=None):
        got, heard = [], self.comments
        while True:
            for event in self.events():
                got.append(event)
                heard = self.comments
                if tell:
                    tell(event)
                if event["kind"] == kind and event["ensemble"] == ensemble:
                    return got
            self.check_silence(heard)
            if not self.read():
                raise ConnectionError("the stream ended")
    def check_silence(self, heard):  # so many heartbeats in silence: nothing more comes
        if self.comments - heard > MANY:
            sys.exit("the stream lives, and what is waited for does not come")

def dump(events):
    for event in events:
        print(json.dumps(event, sort_keys=True, separators=(",", ":")))

what, args = sys.argv[2], sys.argv[3:]
if what == "until":  # QUERY KIND ENSEMBLE; it says when the stream is open
    s = Stream(args[0])
    while s.status is None and s.read():
        pass
    print("open", file=sys.stderr, flush=True)
    dump(s.until(args[1], int(args[2])))
elif what == "surely":  # ENSEMBLE: from the beginning, coming back however often the stream is lost
    seen, got = 0, []
    def note(event):
        global seen
        seen = event["id"]
        got.append(event)
        print("seen", seen, file=sys.stderr, flush=True)
    while True:
        try:
            Stream(last=seen).until("ensemble.complete", int(args[0]), note)
            break
        except (OSError, ConnectionError):
            time.sleep(0.05)
    dump(got)
elif what == "beats":  # how many seconds four of them take, in silence
    began, s = time.monotonic(), Stream()
    while s.comments < 4 and s.read():
        s.events()
    print(time.monotonic() - began)
elif what == "many":  # N ENSEMBLE: N clients at once; how many different stories they tell
    streams = [Stream("?after=0") for _ in range(int(args[0]))]
    for s in streams:
        while not s.body:
            s.read()
    print("open", flush=True)
    stories, heard = {s: [] for s in streams}, {s: s.comments for s in streams}
    with selectors.DefaultSelector() as reading:  # all at once: one that is not read for a minute is given up
        for s in streams:
            reading.register(s.s, selectors.EVENT_READ, s)
        while reading.get_map():
            for key, _ in reading.select():
                s = key.data
                if not s.read():
                    raise ConnectionError("the stream ended")
                blocks = s.blocks()
                stories[s] += blocks
                heard[s] = s.comments if blocks else heard[s]
                s.check_silence(heard[s])
                if any(b"event: ensemble.complete" in block and b'"ensemble":%s,' % args[1].encode() in block for block in blocks):
                    reading.unregister(s.s)
    print(len({b"\n\n".join(story) for story in stories.values()}))
elif what == "each":  # DIRECTORY QUERY=N...: streams at once; the first N events of each go into DIRECTORY/1, 2 and so on
    wanted = [query.rsplit("=", 1) for query in args[1:]]
    streams = [Stream(query) for query, _ in wanted]
    for s in streams:
        while not s.body:
            s.read()
    print("open", file=sys.stderr, flush=True)
    for number, (s, (query, n)) in enumerate(zip(streams, wanted), 1):
        got = s.events()
        while len(got) < int(n):
            if s.comments > MANY:  # nothing more comes
                raise ConnectionError(f"{query}: {len(got)} of {n} events")
            s.read()
            got += s.events()
        with open(f"{args[0]}/{number}", "w") as sys.stdout:
            dump(got)
elif what == "lazy":  # ENSEMBLE: reads nothing until it is told to
    s = connect("?after=0")
    print("open", flush=True)
    sys.stdin.read()
    stream = Stream.__new__(Stream)
    stream.s, stream.buffer, stream.body, stream.comments, stream.status = s, b"", b"", 0, None
    dump(stream.until("ensemble.complete", int(args[0])))
elif what == "flood":  # N [TARGET]: N that stay, and what the next one is told
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    kept = []
    for _ in range(int(args[0])):
        s = connect(target=args[1])
        assert b" 200 " in s.recv(200)
        kept.append(s)
    s = connect(target=args[1])
    answer = b""
    while b"}" not in answer:
        answer += s.recv(65536)
    print(answer.split()[1].decode(), json.loads(answer[answer.index(b"{"):])["code"], flush=True)
    sys.stdin.read()
X
sse() { timeout $((100 * PATIENCE)) python3 "$T/sse.py" "$SOCKET" "$@"; }
page() { api GET "/v1/events?limit=1000$1" | jq -c $JQ_SORTS '.events[]'; }
spec() { # COUNT COMMAND WIDTH
	jq -n --argjson n "$1" --arg c "$2" --argjson w "$3" \
		'{name: "e", members: {command: ["sh", "-c", $c], parameters: {grid: {x: [range($n)]}}}, width: $w}' \
		>"$T/spec.json"
}

# In order, each once, and the same as the pages have it.
is "$(api GET /v1/events | jq -c '[.events, .next, .newest]')" '[[],null,0]' "at first nothing has happened"
sse until '' ensemble.complete 1 >"$T/live" 2>"$T/live.err" &
live=$!
spec 5 true 2
wait_for 30 'grep -q open "$T/live.err"' || bail "no stream is opened"
id=$(submit "$T/spec.json")
ok "an ensemble ends" wait_ensemble "$id" 60
wait $live
is "$(cat "$T/live")" "$(page '')" "a stream that was open tells it as the page does"
is "$(jq -r .id "$T/live" | tr '\n' ' ')" "$(seq -s ' ' "$(wc -l <"$T/live")") " "ids from 1, without a gap"
is "$(jq -r .kind "$T/live" | sort | uniq -c | tr -s ' \n' ' ')" \
	" 5 attempt.ended 1 ensemble.complete 1 ensemble.submitted 5 member.running 5 member.submitted " "all that happened"
is "$(jq -c '[.member, .detail | type]' "$T/live" | head -2 | tr '\n' ' ')" '["null","object"] ["number","object"] ' \
	"with the member where there is one"
is "$(api GET '/v1/events?limit=3' | jq -c '[(.events | map(.id)), .next]')" '[[1,2,3],"3"]' "a page"
is "$(api GET '/v1/events?limit=3&after=15' | jq -c '[(.events | map(.id)), .next]')" '[[16,17],null]' "and the last one"

# Filters
id=$(submit "$T/spec.json")
ok "another ends" wait_ensemble "$id" 60
is "$(sse until '?after=0&ensemble=2' ensemble.complete 2 2>"$T/err")" "$(page '' | jq -c 'select(.ensemble == 2)')" "of one ensemble"
is "$(sse until '?after=0&kind=ensemble.complete' ensemble.complete 2 2>"$T/err")" \
	"$(page '' | jq -c 'select(.kind == "ensemble.complete")')" "of one kind"
is "$(page '&ensemble=2&kind=attempt.ended')" "$(page '' | jq -c 'select(.ensemble == 2 and .kind == "attempt.ended")')" \
	"both, on a page"
is "$(page '&kind=attempt.ended' | wc -l) $(page '&kind=training.ended' | wc -l)" "10 0" "a kind without events has none"
refused() { # NAME CODE CURL-ARGUMENT...
	local name=$1 code=$2
	shift 2
	is "$(curl -s -m 300 --unix-socket "$SOCKET" "$@" | jq -r '"\(.status) \(.code)"')" "400 $code" "$name is refused"
}
stream=(-H 'Accept: text/event-stream')
refused "a Last-Event-ID that is none" last_event_id_invalid "${stream[@]}" -H 'Last-Event-ID: 1x' http://stretto/v1/events
refused "ensemble 0" query_wrong_value "${stream[@]}" 'http://stretto/v1/events?ensemble=0'
refused "an unknown parameter" query_unknown_parameter "${stream[@]}" 'http://stretto/v1/events?who=me'

seconds=$(sse beats)
ok "a silent stream has a heartbeat, and not more often than it should (four in $seconds s)" jq -n -e --argjson seconds "$seconds" '$seconds > 2.5'

# Killed in the middle, twice: the client comes back by Last-Event-ID. Half of the members wait until both kills are over.
before=$(page '' | wc -l)
spec 60 "[ {x} -lt 30 ] || until [ -e $T/go ]; do sleep 0.05; done" 2
id=$(submit "$T/spec.json")
sse surely "$id" >"$T/surely" 2>"$T/seen" &
surely=$!
for more in 10 20; do
	ok "$more events are told before the end" wait_for 60 "[ \"\$(wc -l <'$T/seen')\" -ge $((before + more)) ]"
	kill_daemon
	start_daemon --config "$T/config.json"
done
touch "$T/go"
ok "the ensemble ends" wait_ensemble "$id" 90
wait $surely
is "$(md5sum <"$T/surely")" "$(page '' | md5sum)" "nothing is missing and nothing repeated over two killed daemons"

# Many at once, and one that does not read.
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$DAEMON_PID/status"; }
next=$((id + 1))
mkfifo "$T/hold"
sse lazy $next <"$T/hold" >"$T/lazy" 2>&1 &
lazy=$!
exec 9>"$T/hold"
sse many 200 $next >"$T/many" 2>&1 &
many=$!
ok "200 clients listen" wait_for 60 'grep -q open "$T/many" && grep -q open "$T/lazy"'
before=$(rss)
spec 450 true 60
jq '.pack = 30' "$T/spec.json" >"$T/packed.json" # quickly: who is not read for a minute is given up
is "$(submit "$T/packed.json")" $next "an ensemble of 450"
ok "ends" wait_ensemble $next 100
exec 9>&-
wait $lazy
wait $many
is "$(tail -1 "$T/many")" 1 "all 200 tell the same"
ok "and the daemon has not grown with them ($before to $(rss) kB)" test $(($(rss) - before)) -lt 60000
tail -n +2 "$T/lazy" >"$T/story"
is "$(head -1000 "$T/story" | md5sum)" "$(page '' | md5sum)" "who read nothing until then finds everything in order"
is "$(jq .id "$T/story" | md5sum)" "$(seq "$(wc -l <"$T/story")" | md5sum)" "also what no socket held so long"
ok "which is more than one does" test $(($(wc -c <"$T/story") + 36 * $(wc -l <"$T/story"))) -gt 230000 # id: and event: lines

# A stream catches up in pieces of 512 events: around that many, and then with those that follow, nothing is lost.
newest=$(api GET '/v1/events?limit=1' | jq .newest)
catch_up() { echo "?after=$((newest - $1))=$(($1 + $2))"; }
mkdir "$T/each"
sse each "$T/each" "$(catch_up 511 0)" "$(catch_up 512 0)" "$(catch_up 513 0)" "$(catch_up 1024 0)" "$(catch_up 1025 0)" 2>"$T/each.err"
number=1
for n in 511 512 513 1024 1025; do
	is "$(jq .id "$T/each/$number" | md5sum)" "$(seq $((newest - n + 1)) "$newest" | md5sum)" "a stream catches up with $n events"
	number=$((number + 1))
done

# Streams that share what is read for the same place have each what it asked for.
one=$((next + 1))
two=$((next + 2))
queries=("" "?kind=ensemble.complete" "?kind=attempt.ended" "?ensemble=$one" "?ensemble=$two" "?ensemble=$two&kind=attempt.ended"
	"?after=$((newest - 512))" "?after=$((newest - 512))&ensemble=$two" "?after=$((newest - 512))&kind=attempt.ended")
spec 5 true 2
ended=$(page "&after=$((newest - 512))" | jq -r 'select(.kind == "attempt.ended").id' | wc -l)
counts=(34 2 10 17 17 5 546 17 $((ended + 10)))
wanted=()
for i in "${!queries[@]}"; do wanted+=("${queries[i]}=${counts[i]}"); done
rm "$T/each.err" # so that what is in it is of these streams
sse each "$T/each" "${wanted[@]}" 2>"$T/each.err" &
each=$!
ok "streams with different filters are opened" wait_for 30 'grep -q open "$T/each.err" || ! kill -0 $each'
submit "$T/spec.json" >"$T/id"
submit "$T/spec.json" >>"$T/id"
is "$(tr '\n' ' ' <"$T/id")" "$one $two " "two ensembles are submitted"
rc=0
wait $each || rc=$?
is "$rc $(tail -1 "$T/each.err")" "0 open" "every stream has as many events as were expected of it"
for i in "${!queries[@]}"; do
	query=${queries[i]:+&${queries[i]#\?}}
	[[ $query = *after=* ]] || query="&after=$newest$query"
	is "$(md5sum <"$T/each/$((i + 1))")" "$(page "$query" | md5sum)" "a stream of \"${queries[i]}\" tells what a page of it has"
done

# Too many
# the former ones are gone by the next heartbeat
wait_for 30 '[ "$(api GET /metrics | sed -n "s/^stretto_connections{state=\"admitted\"} //p")" = 1 ]'
sse flood 2048 /v1/events <"$T/hold" >"$T/flood" 2>&1 &
flood=$!
exec 9>"$T/hold"
ok "2048 streams are opened" wait_for 90 'test -s "$T/flood"'
is "$(cat "$T/flood")" "503 busy" "one more is told that it is too many"
is "$(api_status GET /v1/ensembles/1)" 200 "others are answered"
exec 9>&-
wait $flood

# Output that is followed: what is there, what comes, the end.
cat >"$T/spec.json" <<'X'
{"name": "f", "members": {"command": ["sh", "-c", "echo first; while [ ! -e go ]; do sleep 0.1; done; echo last; printf end >&2"],
 "parameters": {"grid": {"x": [0]}}, "retries": 0}, "width": 1}
X
id=$(submit "$T/spec.json")
wait_for 20 'api GET /v1/ensembles/'"$id"'/members/0 | jq -e ".attempts | length == 1"'
stretto logs -f "$id.0" >"$T/followed" 2>"$T/err" &
follow=$!
stretto logs -f -e "$id.0" >"$T/followed.err" 2>&1 &
follow_err=$!
ok "what is there is told at once" wait_for 20 'grep -q first "$T/followed"'
sse flood 62 "/v1/ensembles/$id/members/0/stdout?follow=1" <"$T/hold" >"$T/flood64" 2>&1 &
flood=$!
exec 9>"$T/hold"
ok "64 follow" wait_for 30 'test -s "$T/flood64"'
is "$(cat "$T/flood64")" "503 busy" "one more is told that it is too many"
exec 9>&-
wait $flood
ok "those who went away are noticed" wait_for 10 \
	'curl -s -m 1 -o "$T/again" --unix-socket "$SOCKET" "http://stretto/v1/ensembles/'"$id"'/members/0/stdout?follow=1"; grep -q first "$T/again"'
ok "those who stay go on" kill -0 $follow
api GET "/v1/ensembles/$id" >"$T/ensemble.json"
for dir in $(find "$(jq -r .dir "$T/ensemble.json")" -type d); do touch "$dir/go"; done
rc=0
wait $follow || rc=$?
is "$rc $(tr '\n' ' ' <"$T/followed")" "0 first last " "and what comes, until its end"
wait $follow_err
is "$(cat "$T/followed.err")" end "of standard error, too"
is "$(stretto logs -f "$id.0" | tr '\n' ' ')" "first last " "who follows what has ended gets it all"

# It ends well while clients listen and follow.
sse beats >"$T/beats" 2>&1 &
listener=$!
cat >"$T/spec.json" <<'X'
{"name": "s", "members": {"command": ["sh", "-c", "echo on; while [ ! -e $HOME/over ]; do sleep 0.1; done"], "parameters": {"grid": {"x": [0]}}}, "width": 1}
X
id=$(submit "$T/spec.json")
wait_for 20 'api GET /v1/ensembles/'"$id"'/members/0 | jq -e ".attempts | length == 1"'
curl -s -N -m 60 --unix-socket "$SOCKET" "http://stretto/v1/ensembles/$id/members/0/stdout?follow=1" >"$T/followed.on" &
follow=$!
wait_for 20 'grep -q on "$T/followed.on"'
stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends while clients listen and follow"
rc=0
wait $follow || rc=$?
ok "who follows is told that this was not the end" test $rc -ne 0
wait $listener

# Forgotten events are reported as a gap.
echo '{"heartbeat": "1s", "keep_events": "2s"}' >"$T/config.json"
start_daemon --config "$T/config.json"
touch "$HOME/over"
ok "the ensemble goes on" wait_ensemble "$id" 60
ok "old events are forgotten" wait_for 30 'api GET /v1/events | jq -e "(.events | length) == 0 and .newest > 100"'
newest=$(api GET /v1/events | jq .newest)
# what a stream has until its first heartbeat
begins() { curl -s -N -m 100 "${stream[@]}" --unix-socket "$SOCKET" "$@" | sed '/^:/q' >"$T/gap"; }
begins 'http://stretto/v1/events?after=3&kind=training.ended'
is "$(sed -n 's/^data: //p' "$T/gap" | jq -c '[.id, .kind, .detail]')" \
	"[$newest,\"gap\",{\"after\":3,\"oldest\":$((newest + 1))}]" "a stream that would go on there begins with a gap"
begins -H "Last-Event-ID: $newest" http://stretto/v1/events
ok "a stream that goes on where there is nothing new begins" test -s "$T/gap"
is "$(grep -c '^data' "$T/gap")" 0 "one that has seen all does not"
# ids that this daemon has not given, as after it was started on an older backup
begins -H "Last-Event-ID: $((newest + 1000))" http://stretto/v1/events
is "$(sed -n 's/^data: //p' "$T/gap" | jq -c '[.id, .kind, .detail]')" \
	"[$newest,\"gap\",{\"after\":$((newest + 1000)),\"oldest\":$((newest + 1))}]" "one that has seen what never was begins with a gap"

done_testing
