#!/usr/bin/env bash
# Ten thousand requests made from /openapi.json, valid and not, several under way at a time: no error of the daemon's
# own, every answer as the document says, and one to each. By hand: PROPERTY_REQUESTS=100000 PROPERTY_SECONDS=900
# PROPERTY_SEED=random make check TESTS=tests/t/0588-properties.t
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=$((${PROPERTY_SECONDS:-50} + 100))
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

python=
for candidate in python3 /usr/bin/python3; do
	"$candidate" -c 'import hypothesis, jsonschema; jsonschema.Draft202012Validator' 2>/dev/null && { python=$candidate; break; }
done
[ -n "$python" ] || skip_all "no Python here has hypothesis and jsonschema"

# No more than two members run at a time, and a batch system that is not here starts none.
echo '{"adapters": {"local": {"slots": 2}}}' >config.json
start_daemon --config config.json --listen tcp:127.0.0.1:0
port=$(jq -r '.listeners[].url | select(startswith("http"))' "$STATE/listen.json" | sed 's/.*://')
tokens=$(for role in admin operator reader; do stretto token create --role $role 2>/dev/null; done | xargs)
# something of each kind to ask about: what ran, what failed, a training, and what waits
jq -n '{name: "ran", members: {command: ["sh", "-c", "echo {x}; [ {x} != 2 ] || exit 3"], parameters: {grid: {x: [1, 2, 3]}}, retries: 0}}' >ran.json
jq '.name = "trained" | .training = {command: ["sh", "-c", "echo hello; exit 1"], fields: {f: {dtype: "float32", shape: [2]}}, steps: 1}' ran.json >trained.json
id=$(submit ran.json)
ok "an ensemble ran" wait_for 60 '[ "$(api GET /v1/ensembles/'"$id"' | jq -r .members.succeeded)" = 2 ]'
trained=$(submit trained.json)
is "$trained" 2 "one with a training is accepted"
[ "$trained" = 2 ] || diag "$(head -c 500 trained.json api.body)"
jq '.name = "waits" | .adapter = "slurm"' ran.json >waits.json
submit waits.json >waits
pid=$DAEMON_PID
"$python" "$srcdir/tests/t/properties.py" "$SOCKET" "$port" "$tokens" "$T" >properties.out 2>&1
is $? 0 "every answer is as /openapi.json says" || true
sed 's/^/# /' properties.out | tail -n 60
is "$(api_status GET /readyz) $(kill -0 "$pid" && echo lives)" "200 lives" "the daemon lives on"
# Everything that the requests have started ends with the test: a pilot of theirs would wait a minute for more.
for id in $(api GET '/v1/ensembles?limit=1000' | jq '.ensembles[].id'); do api POST "/v1/ensembles/$id/cancel" >cancelled; done
live() { for state in intent submitted running; do api GET "/v1/jobs?limit=1&adapter=local&state=$state" | jq '.jobs[]'; done; }
ok "what they started can be cancelled" wait_for 60 '[ -z "$(live)" ]'
done_testing
