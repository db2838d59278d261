#!/bin/bash
# Adapters as plugins: docs/adapters.md as it stands, the conformance suite, an ensemble over restarts, what is refused.
TEST_LIMIT=400
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# The files that `make install` would put there: headers, library, stretto-adapter.pc.
prefix=$T/prefix
mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
cp -r "$builddir/include/stretto" "$prefix/include/"
cp -d "$builddir"/.libs/libstretto-adapter.so* "$prefix/lib/"
sed "s|^prefix=.*|prefix=$prefix|; s|^libdir=.*|libdir=$prefix/lib|; s|^includedir=.*|includedir=$prefix/include|" \
	"$builddir/scheduler-adapters/stretto-adapter.pc" >"$prefix/lib/pkgconfig/stretto-adapter.pc"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:${PKG_CONFIG_PATH:-} LD_LIBRARY_PATH=$prefix/lib
is "$(grep -h '#include "' "$prefix"/include/stretto/*.h)" "" "the installed headers include nothing of the tree's"
for header in "$prefix"/include/stretto/*.h; do
	echo "#include <stretto/${header##*/}>" >alone.c
	# shellcheck disable=SC2046 # words
	ok "${header##*/} stands for itself" gcc -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -fsyntax-only \
		$(pkg-config --cflags stretto-adapter) alone.c
done

program "$T/bin/toy-batch" "$T/bin/python3 -IS $srcdir/tests/t/toy-batch"
serve() { # SOCKET SLOTS
	rm -f "$1.log"
	python3 "$srcdir/tests/t/toy-batch" "$1" serve "$2" >"$1.log" 2>&1 &
	servers="${servers:-} $!"
	wait_for 10 "grep -q serving '$1.log'"
}

# --- the page's own commands
cp "$srcdir/scheduler-adapters/template.c" .
awk '/^<!-- tested -->$/ { armed = 1; next } armed && /^```sh$/ { inside = 1; armed = 0; next } /^```$/ { inside = 0 } inside' \
	"$srcdir/docs/adapters.md" | sed "s|PWD|$T|g" >commands
status_is 0 "the commands of docs/adapters.md" bash -e -o pipefail ./commands
is "$(cat err)" "" "no warning"
is "$(nm -D --defined-only template.so | awk '$2 ~ /[A-Z]/ { print $3 }')" stretto_adapter "it exports one symbol"

# --- the conformance suite
serve "$T/1.sock" 1
serve "$T/3.sock" 3
conforms "a plugin" "{\"program\": [\"toy-batch\", \"$T/%d.sock\"]}" STRETTO_ADAPTER_PLUGIN="$T/adapters/template.so"

# --- an ensemble, end to end, over a restart
serve "$T/batch.sock" 2
start_daemon --config strettod.json
is "$(api GET /v1/adapters | jq -c '[.adapters[] | [.name, .plugin]]')" \
	"[[\"local\",null],[\"alps\",null],[\"pbs\",null],[\"slurm\",null],[\"slurmrestd\",null],[\"template\",\"$T/adapters/template.so\"]]" "the plugin is listed"
status_is 0 "and every adapter is well" stretto adapters
jq -n '{name: "by-plugin", adapter: "template", width: 4, members: {retries: 0, parameters: {grid: {x: [0, 1, 2, 3, 4, 5]}},
	command: ["sh", "-c", "echo {x} >>$HOME/ran; while ! test -e $HOME/go; do sleep 0.1; done; echo hello {x}"]}}' >spec.json
id=$(submit spec.json)
ok "members run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
kill_daemon
start_daemon --config strettod.json
touch "$HOME/go"
ok "and go on over a restart of the daemon" wait_ensemble "$id" 60
is "$(jq -c '[.state, .members.succeeded]' ensemble.json)" '["complete",6]' "to their end"
is "$(sort "$HOME/ran" | xargs)" "0 1 2 3 4 5" "each once"
is "$(stretto logs "$id.5")" "hello 5" "their output is there"
rm "$HOME/go"
id=$(submit spec.json)
wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 8 ]'
stretto cancel "$id" >/dev/null
ok "cancelling ends them" wait_for 30 'stretto members $id --state cancelled --json | jq -e ".members | length == 6"'

# --- a batch system that loses sight of a job, and finds it again when it has been submitted once more
toy() { toy-batch "$T/batch.sock" "$@"; }
waiting() { toy list | awk '$2 == "queued" { print $3 }'; }
jq '.width = 1 | .members.parameters = {grid: {x: [0]}}' spec.json >one.json
rm "$HOME/ran"
holders="$(submit one.json) $(submit one.json)"
ok "two members run" wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
id=$(submit one.json)
ok "a third waits" wait_for 30 '[ "$(waiting | wc -l)" = 1 ]'
first=$(waiting) name=$(toy list | awk '$2 == "queued" { print $1 }')
toy hide "$name"
ok "what is out of sight is submitted again" wait_for 30 '[ "$(waiting | wc -l)" = 1 ]'
second=$(waiting)
toy show "$name"
is "$(toy list | awk -v name="$name" '$1 == name { print $3 }' | xargs)" "$first $second" "there are two of it"
ok "one of them is taken out of the queue" wait_for 30 '[ "$(waiting)" = "$first" ]'
like "$(toy list | grep " $second ")" " ended .* withdrawn$" "by its id"
touch "$HOME/go"
for each in $holders $id; do wait_ensemble "$each" 60; done
is "$(jq -c .members.succeeded ensemble.json),$(wc -l <"$HOME/ran")" 1,3 "each ran once"
rm "$HOME/go"

# --- a batch system that does not answer: nothing is lost, and it is said
touch "$HOME/go"
# shellcheck disable=SC2086 # pids
kill -STOP ${servers##* }
sed -i 's/"20s"/"8s"/' strettod.json
stop_daemon
start_daemon --config strettod.json
id=$(submit spec.json)
ok "that it does not answer is said" wait_for 30 'grep -q "is not known whether it was submitted" "$DAEMON_LOG"'
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.failed]')" '["running",0]' "and costs nothing"
# shellcheck disable=SC2086 # pids
kill -CONT ${servers##* }
ok "once it answers, all goes on" wait_ensemble "$id" 150
is "$(jq -c .members.succeeded ensemble.json)" 6 "to the end"
stop_daemon

# --- what is refused
compile() { # NAME [DEFINE...]: adapters/NAME.so
	local name=$1
	shift
	# shellcheck disable=SC2046 # words
	gcc -shared -fPIC -o "adapters/$name.so" "$@" $(pkg-config --cflags --libs stretto-adapter)
	chmod 755 "adapters/$name.so"
}
sed 's/\.abi = ADAPTER_ABI/.abi = ADAPTER_ABI + 1/' template.c >newer.c && compile newer newer.c
sed 's/\.name = "template"/.name = "local"/' template.c >clash.c && compile clash clash.c
sed 's/\.name = "template"/.name = "hole"/; s/\.cancel = template_cancel,//' template.c |
	sed 's/^static void template_cancel(/void cancel_unused(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);\nvoid cancel_unused(/' >hole.c && compile hole hole.c
sed 's/\.name = "template"/.name = "unset"/' template.c >unset.c && compile unset unset.c
echo 'int x;' >none.c && compile none none.c
echo 'no object' >adapters/text.so
sed 's/\.name = "template"/.name = "open"/' template.c >open.c && compile open open.c && chmod 777 adapters/open.so
cp adapters/open.so adapters/other.so && chmod 755 adapters/other.so
mkdir open && chmod 755 open && cp adapters/other.so open/linked.so && chmod 777 open && ln -s "$T/open/linked.so" adapters/linked.so
if [ "$(id -u)" = 0 ]; then chown 12345 adapters/other.so; fi
start_daemon --config strettod.json
api GET /v1/adapters >adapters.json
is "$(jq -c '[.adapters[].name]' adapters.json)" '["local","alps","pbs","slurm","slurmrestd","template"]' "the daemon starts, with what can be used"
refused() { jq -r --arg path "$T/adapters/$1.so" '.refused[] | select(.path == $path) | "\(.code): \(.reason)"' adapters.json; }
abi=$(sed -n 's/^#define ADAPTER_ABI //p' "$srcdir/scheduler-adapters/adapter.h")
like "$(refused newer)" "^plugin_wrong_version: $T/adapters/newer.so was built for version $((abi + 1)) .* has version $abi" \
	"another version"
like "$(refused clash)" '^plugin_name_taken: .*"local"' "the name of a built-in one"
like "$(refused hole)" '^plugin_unusable: .*lacks a method' "a method is missing"
like "$(refused unset)" '^plugin_configuration: .*/adapters/unset/program' "settings are missing"
like "$(refused none)" '^plugin_unusable: .*no "stretto_adapter"' "no adapter at all"
like "$(refused text)" '^plugin_unusable: .*text.so' "no shared object"
like "$(refused open)" '^plugin_not_safe: .*can be written by other users' "open to others"
like "$(refused linked)" '^plugin_not_safe: .*/open can be written by other users' "in a directory open to others, by a link"
if [ "$(id -u)" = 0 ]; then
	like "$(refused other)" '^plugin_not_safe: .*belongs to uid 12345' "another user's"
else
	skip "only root can give a file away"
fi
is "$(grep -c 'adapter plugin refused' "$DAEMON_LOG")" "$(jq '.refused | length' adapters.json)" "the log has each once"
status_is 1 "stretto adapters fails while a plugin is refused" stretto adapters
is "$(grep -c '^refused: ' out)" "$(jq '.refused | length' adapters.json)" "and tells each"

# --- a plugin that is gone: its ensembles wait for it
rm "$HOME/go" "$HOME/ran"
id=$(submit spec.json)
wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
jq '.adapter = "local" | .training = {adapter: "template", command: ["sleep", "600"], fields: {u: {dtype: "float32", shape: [1]}}}' \
	spec.json >streams.json
streams=$(submit streams.json)
ok "a training of members that are elsewhere waits there" wait_for 30 '[ "$(waiting | wc -l)" = 3 ]'
stop_daemon
chmod 777 adapters
start_daemon --config strettod.json
is "$(api GET /v1/adapters | jq -c '[(.adapters | length), .refused[0].code]')" '[5,"plugin_not_safe"]' "a folder open to others"
ok "an ensemble of a plugin that is gone is left alone" grep -q "ensemble $id is left alone: there is no adapter" "$DAEMON_LOG"
is "$(api_status POST "/v1/ensembles/$id/pause") $(jq -r .code api.body)" "409 adapter_not_here" "what asks for a change is told"
touch "$HOME/go"
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.succeeded]')" '["running",0]' "and nothing is changed"
is "$(api_status POST "/v1/ensembles/$streams/pause") $(jq -r .code api.body)" "409 adapter_not_here" "likewise where only the training's is gone"
is "$(api GET "/v1/ensembles/$streams" | jq -c '[.state, .training.state, .training.adapter]')" '["running","submitted","template"]' "which waits for it"
stop_daemon
chmod 755 adapters
start_daemon --config strettod.json
stretto cancel "$streams" >/dev/null
ok "and goes on when it is back" wait_for 30 '[ "$(api GET "/v1/ensembles/$streams" | jq -r .training.state)" = cancelled ]'
ok "it goes on when the plugin is back" wait_ensemble "$id" 60
is "$(jq -c .members.succeeded ensemble.json) $(sort "$HOME/ran" | xargs)" "6 0 1 2 3 4 5" "to its end, each member once"
rm "$HOME/go" "$HOME/ran"
id=$(submit spec.json)
wait_for 30 '[ "$(wc -l <"$HOME/ran")" = 2 ]'
stop_daemon
chmod 777 adapters
start_daemon --config strettod.json
is "$(api_status POST "/v1/ensembles/$id/cancel")" 202 "but it can be cancelled"
is "$(api GET "/v1/ensembles/$id" | jq -c '[.state, .members.cancelled, .members.pending]')" '["cancelled",2,0]' "with all that does not run"
is "$(api_status POST "/v1/ensembles/$id/cancel")" 202 "and again, which changes nothing"
stop_daemon
chmod 755 adapters
start_daemon --config strettod.json
ok "what runs is stopped when the plugin is back" wait_for 30 '[ "$(api GET "/v1/ensembles/$id" | jq .members.cancelled)" = 6 ]'
# of those that waited in the queue one may have got the place of one that was stopped, for a moment
is "$(grep -c '[45]' "$HOME/ran"),$(sort "$HOME/ran" | uniq -d)" "0," "and nothing else was submitted"

# shellcheck disable=SC2086 # pids
kill $servers
wait $servers 2>/dev/null
done_testing
