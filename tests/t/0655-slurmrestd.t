#!/bin/bash
# Ensembles as jobs of a real Slurm over its REST server: the conformance suite, an ensemble, what can never run, all
# that can go wrong on the way, the API versions that there are, and tokens.
# shellcheck disable=SC2016,SC2034 # for wait_for
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/slurm.sh
. "$srcdir/tests/t/slurm.sh"
# shellcheck source=tests/t/slurmrestd.sh
. "$srcdir/tests/t/slurmrestd.sh"
jwt=()
if compgen -G "/usr/lib*/*/slurm*/auth_jwt.so" >/dev/null; then
	head -c 32 /dev/urandom >jwt.key
	chmod 600 jwt.key
	jwt=(AuthAltTypes=auth/jwt "AuthAltParameters=jwt_key=$T/jwt.key")
fi
has() { compgen -G "/usr/lib*/*/slurm*/openapi_v0_0_$1.so" >/dev/null; }
has 38 || skip_all "no slurmrestd of v0.0.38 here"
slurm_start GresTypes=gpu "${jwt[@]}"
socket=unix:$T/restd.sock
restd() { restd_start "$socket" -a rest_auth/local -s "openapi/v0.0.$1" || bail "slurmrestd did not start: $(tail -n 5 restd.out)"; }
restd 38
proxy_start "$T/restd.sock"

# --- the conformance suite
conforms slurmrestd "{\"url\": \"$socket\", \"gather\": \"100ms\", \"extra\": [\"--partition=slots%d\"], \"environment\": [\"STRETTO_TEST\"]}" STRETTO_ADAPTER=slurmrestd

# --- an ensemble
restd_config "unix:$T/proxy.sock"
export STRETTO_TOKEN=secret AWS_SECRET_ACCESS_KEY=secret
start_daemon --config config.json
unset STRETTO_TOKEN AWS_SECRET_ACCESS_KEY
jq -n '{name: "by-rest", adapter: "slurmrestd", width: 6, members: {retries: 1, parameters: {grid: {x: [0, 1, 2, 3, 4, 5, 6, 7]}},
	resources: {walltime: "1h", memory: "10MiB", queue: "main", extra: ["--comment=hello", "--nice", "5"]},
	command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; env >env; echo hello {x}; [ {x} != 3 ] || exit 7"]}}' >spec.json
id=$(submit spec.json)
ok "as many members run as the width says" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 6 ]'
is "$(squeue -h -t R -o '%k %m %l %P %D %C %j' | sed 's/ st-.*//' | sort | uniq -c | xargs)" "6 hello 10M 1:00:00 main 1 1" "each is a job that asks for what the spec says"
is "$(scontrol -o show job | grep -c -E ' Nice=5 .* Requeue=0 ')" 6 "and that Slurm starts once"
touch "$HOME/go"
ok "they end" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded, .members.failed]' ensemble.json)" '["complete",7,1]' "to their end"
is "$(sort "$HOME/ran" | xargs)" "0 1 2 3 3 4 5 6 7" "each once, and one again, as it failed"
is "$(stretto logs "$id.5")" "hello 5" "their output is there"
is "$(grep -l -r -e secret "$STATE/run/e$id" | wc -l)" 0 "nothing of the daemon's secrets reaches them"
ok "what they need does" grep -r -q "^HOME=$HOME" "$STATE/run/e$id"
ok "those of one shape went together" test "$(grep -c 'POST .*/job/submit$' requests)" -lt 9
is "$(grep -v -E '^(DELETE|GET /openapi/v3|(GET|POST) /slurm/v0.0.38/(jobs|partitions|job/submit)$)' requests)" "" "one request asks about all of them"

# --- cancelled, running and waiting
cancels_all '.exclusive = true'

# --- what waits
tells_why slurmrestd

# --- what can never run: told in Slurm's own words, once
refused "no such queue" '.members.resources.queue = "nope"' 'Invalid partition name'
refused "too many nodes" '.members.resources.nodes = 3' 'PartitionConfig|PartitionNodeLimit'
refused "no such GPU" '.members.resources.gpus = 1' 'node configuration'
is "$(api_status POST /v1/ensembles "$(jq '.members.resources.extra = ["--comment=x", "--mail-user=me"]' spec.json)")" 422 "an option that cannot be said"
is "$(jq -r .pointer api.body)" /members/resources/extra/1 "is refused at its place"
ok "nothing of it waits on" wait_for 20 '! slurm_jobs | grep PENDING'

# --- answers that are lost: one job of each
# (a connection is kept by the proxy until then: a client that used it again would send what got no answer once more)
members() { # COUNT [FILTER]
	jq -n --arg home "$HOME" --argjson n "$1" '{name: "faults", adapter: "slurmrestd", width: $n, members: {retries: 0, resources: {walltime: "10m"},
		parameters: {grid: {x: [range($n)]}}, command: ["sh", "-c", "echo {x} >>\($home)/ran; while test -e \($home)/hold; do sleep 0.1; done"]}}' |
		jq "${2:-.}" >spec.json
	rm -f "$HOME/ran" "$HOME/hold" lost
	touch "$HOME/ran"
	before=$(slurm_jobs | wc -l)
}
succeeded() { # ID COUNT WHAT
	ok "$3: it ends" wait_ensemble "$1" 60
	is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" "[\"complete\",$2]" "$3: every member has succeeded"
	is "$(sort -n "$HOME/ran" | xargs)" "$(seq 0 $(($2 - 1)) | xargs)" "$3: each ran once"
	is "$(($(slurm_jobs | wc -l) - before))" "$2" "$3: by one job"
}
members 3
echo "swallow POST .*/job/submit" >fault
id=$(submit spec.json)
succeeded "$id" 3 "a lost answer"
is "$(cat lost)" swallow "it was lost"
members 1
echo "$DAEMON_PID" >victim
echo "kill POST .*/job/submit" >fault
id=$(submit spec.json)
ok "the daemon is killed when Slurm has the job" wait_for 30 '[ -s lost ] && ! kill -0 $DAEMON_PID'
kill_daemon
start_daemon --config config.json
succeeded "$id" 1 "killed after the submission"

# --- arrays: which of the tasks wait is told in few characters, and is known all the same
members 60 '.members.resources.cpus_per_task = 4'
touch "$HOME/hold"
id=$(submit spec.json)
ok "two run, others wait" wait_for 60 '[ "$(wc -l <"$HOME/ran")" = 2 ] && [ "$(slurm_jobs | grep -c " PENDING$")" = 58 ]'
array=$(slurm_jobs | awk '$3 == "PENDING" { print $2 }' | sed -n '30s/_.*//p')
scontrol hold "${array}_[$(seq -s, 20 2 58)]" # which makes jobs of their own of them
ok "what waits is listed incompletely" wait_for 20 'curl -s -m 5 --unix-socket restd.sock http://localhost/slurm/v0.0.38/jobs | jq -e ".jobs[] | select(.array_job_id == $array and .array_task_id == null).array_task_string | test(\"[.][.][.]\")"'
polls=$(grep -c 'GET .*/jobs$' requests)
ok "and asked for twice" wait_for 30 '[ "$(grep -c "GET .*/jobs\$" requests)" -ge $((polls + 2)) ]'
is "$(api GET "/v1/ensembles/$id" | jq -c '[.members.running, .members.submitted]') $(slurm_jobs | grep -c " PENDING$")" "[2,58] 58" "nothing of it is lost, or there twice"
is "$(grep -c "never started: it is submitted again" "$DAEMON_LOG")" 0 "or submitted again"
scancel "${array}_25"
scontrol release "${array}_[$(seq -s, 20 2 58)]"
stretto cancel "$id" >/dev/null
ok "cancelling ends all that run and wait" wait_for 60 '[ "$(api GET "/v1/ensembles/$id" | jq .members.cancelled)" = 60 ]'
ok "in Slurm, too" wait_for 30 '! slurm_jobs | grep -E "(PENDING|RUNNING|COMPLETING)$"'
is "$(wc -l <"$HOME/ran")" 2 "none of those that waited has started"
rm "$HOME/hold"

# --- a server that hangs, dies, or talks nonsense: nothing is lost or failed meanwhile
members 2
touch "$HOME/hold"
id=$(submit spec.json)
ok "members run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
trouble() { # NAME REASON
	ok "$1: it is told" wait_for 30 "adapter_is '.failing_since != null and (.reason | test(\"$2\"))'"
	is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.running, .members.failed]')" '["running",2,0]' "$1: nothing is changed"
}
better() { ok "$1: it answers again" wait_for 60 "adapter_is '.failing_since == null'"; }
kill -STOP "$RESTD_PID"
trouble "frozen" "[Tt]imed? ?out"
kill -CONT "$RESTD_PID"
better "frozen"
restd_stop KILL
trouble "killed" "."
restd 38
better "killed"
echo "garbage GET .*/jobs" >fault
trouble "garbage" "no JSON"
echo "cut GET .*/jobs" >fault
ok "cut off: it is told" wait_for 30 "adapter_is '.reason | test(\"closed|transfer\")'"
echo "endless GET .*/jobs" >fault
ok "endless: it is told" wait_for 30 "adapter_is '.reason | test(\"too long|[Tt]imed? ?out\")'"
rm fault
better "nonsense"

# --- a job that is too many, and begins just when it is to be taken out of the queue: it is left alone
cat >before <<'END'
#!/bin/bash
scontrol release "${1##*/}"
until [ "$(squeue -h -j "${1##*/}" -o %T)" = RUNNING ]; do sleep 0.05; done
END
chmod +x before
echo 'before POST .*/job/[0-9]+$' >fault
name=$(api GET "/v1/ensembles/1/members/0" | jq -r '.attempts[0].job') # it has ended long ago
surplus=$(sbatch --parsable --hold -J "$name" -o /dev/null --wrap 'exec sleep 1000')
before=$((before + 1))
# an order is repeated where its answer did not come in time
let_go() { wait_for 60 '[ "$(grep -c "POST .*/job/$surplus$" requests)" -ge 2 ]' || { grep "$surplus" requests; false; }; }
ok "it is held, looked at, and released" let_go
is "$(squeue -h -j "$surplus" -o %T) $(grep -c "DELETE .*/job/$surplus" requests)" "RUNNING 0" "it runs on"
scancel "$surplus"
rm "$HOME/hold"
succeeded "$id" 2 "a troubled server"
better "in the end"
# it may fail to answer once more on a machine that stalls
ok "each time, one line in the log tells of it" wait_for 30 \
	'[ "$(grep -c "adapter slurmrestd does not answer" "$DAEMON_LOG")" = "$(grep -c "adapter slurmrestd answers again" "$DAEMON_LOG")" ]'

# --- it comes back in another version; v0.0.36 by hand, with STRETTO_SLURM_LONG=1
for version in 37 ${STRETTO_SLURM_LONG:+36}; do
	has "$version" || continue
	restd_stop KILL
	restd "$version"
	if [ "$version" = 36 ]; then # it need not have known another one
		stop_daemon
		start_daemon --config config.json
	fi
	members 2
	id=$(submit spec.json)
	succeeded "$id" 2 "v0.0.$version"
	ok "v0.0.$version: it was found out" grep -q "API version v0.0.$version" "$DAEMON_LOG"
done

# --- by TLS, with a certificate that only we trust
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
	-keyout key.pem -out cert.pem 2>err || bail "openssl: $(cat err)"
cat cert.pem key.pem >both.pem
stop_daemon
proxy_stop
proxy_start "$T/restd.sock" both.pem
restd_config "https://127.0.0.1:$PROXY_PORT"
start_daemon --config config.json
members 2
id=$(submit spec.json)
ok "a certificate that nobody vouches for is told" wait_for 30 'adapter_is ".reason | test(\"certificate\")"'
is "$(slurm_jobs | wc -l)" "$before" "and nobody is asked"
stop_daemon
restd_config "https://127.0.0.1:$PROXY_PORT" ca_file "\"$T/cert.pem\""
start_daemon --config config.json
succeeded "$id" 2 "by TLS, checked by a file of certificates"

# --- by TCP, with a token
token() { # SECONDS until it expires, from now: as scontrol token would print it
	python3 - "$1" "$(id -un)" jwt.key >token.new <<'END'
import base64, hashlib, hmac, json, sys, time
def b64(data): return base64.urlsafe_b64encode(data).rstrip(b"=")
now = int(time.time())
text = b64(b'{"alg":"HS256","typ":"JWT"}') + b"." + b64(json.dumps({"exp": now + int(sys.argv[1]), "iat": now - 1000, "sun": sys.argv[2]}).encode())
key = open(sys.argv[3], "rb").read()
print("SLURM_JWT=" + (text + b"." + b64(hmac.new(key, text, hashlib.sha256).digest())).decode())
END
	chmod "${2:-600}" token.new
	mv token.new "$HOME/.slurm.jwt"
}
# example LANGUAGE: of docs/cluster.md
example() { awk -v start="\`\`\`$1" '$0 == "<!-- tested with slurmrestd -->" { armed = 1; next } armed && $0 == start { inside = 1; next }
	/^```$/ { inside = 0 } /^$/ { next } { if (!inside) armed = 0; else print }' "$srcdir/docs/cluster.md"; }
if [ ${#jwt[@]} -gt 0 ]; then
	restd_stop KILL
	restd_start_tcp -a rest_auth/jwt -s openapi/v0.0.38
	stop_daemon
	example json >example.json
	ok "docs/cluster.md tells how" grep -q slurmrestd example.json
	restd_config "http://127.0.0.1:$RESTD_PORT"
	jq -s '.[0] * .[1] * {adapters: {slurmrestd: {url: .[1].adapters.slurmrestd.url}}}' example.json config.json >config.new && mv config.new config.json
	token -100
	start_daemon --config config.json
	members 2
	id=$(submit spec.json)
	ok "an expired token is told" wait_for 30 'adapter_is ".reason | test(\"is the token in $HOME/.slurm.jwt one of .*still valid\")"'
	token 1000 644
	ok "so is one that others can read" wait_for 30 'adapter_is ".reason | test(\"$HOME/.slurm.jwt can be used by others .mode 0644\")"'
	is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.submitted, .members.failed]')" '["running",2,0]' "nothing is changed by that"
	example sh >example.sh
	ok "a token is made as docs/cluster.md says" bash -e example.sh
	succeeded "$id" 2 "a token that is renewed"
	secret=$(cut -d= -f2- "$HOME/.slurm.jwt")
	is "$(grep -r -l -F "$secret" "$STATE" "$DAEMON_LOG" restd.out api.body | wc -l)" 0 "it stands nowhere else"
else
	skip "no tokens here (slurm-wlm-jwt-plugin is missing)"
fi

stop_daemon
is "$DAEMON_STATUS" 0 "the daemon ends well"
restd_stop
proxy_stop
slurm_stop
done_testing
