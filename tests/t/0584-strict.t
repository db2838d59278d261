#!/usr/bin/env bash
# Nobody else may be able to replace what the daemon and the command line rely on: every directory on the way, links,
# files that say what to do, and the program that listens on a socket.
# shellcheck disable=SC2016 # for wait_for
TEST_LIMIT=120
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
other=54321
as_other() { setpriv --reuid $other --regid $other --clear-groups "$@"; }
chmod 755 "$T"

# refused NAME PATTERN OPTION...: the daemon does not start, and says why.
refused() {
	local name=$1 pattern=$2
	shift 2
	status_is 1 "$name" timeout $((20 * PATIENCE)) strettod "$@"
	like "$(tail -n 1 "$T/err")" "$pattern" "it says why"
}

# --- directories

mkdir -m 770 group
mkdir -m 707 open
mkdir -m 755 group/deep good good/sub
refused "a state directory in one that the group can write to" \
	"$T/group can be written by other users of its group \(owner [^ ]+ \(uid $(id -u)\), mode 0770\).*chmod go-w it.*path_not_safe" --state-dir "$T/group/state"
refused "anywhere above" "$T/group can be written" --state-dir "$T/group/deep/er/state"
refused "or in one that all can write to" "$T/open can be written by other users \(" --state-dir "$T/open/state"
is "$(find group open -mindepth 1 | sort)" group/deep "and nothing was made there"
refused "a run directory likewise" "$T/open can be written" --state-dir "$STATE" --run-dir "$T/open/run"
refused "a socket likewise" "$T/open can be written" --state-dir "$STATE" --listen "unix:$T/open/socket"
# a project's directory, which belongs to its head, and which its group can write to
group=$(getent group | awk -F: '$3 > 0 && $3 < 60000 { print $1; exit }')
mkdir -m 2770 project
mkdir -m 700 project/mine
chown "$other:$group" project
refused "a run directory in a project's directory" "$T/project belongs to uid $other" --state-dir "$STATE" --run-dir "$T/project/mine/run"
jq -n --arg group "$group" '{trusted_groups: [$group]}' >good/trusting.json
start_daemon --config "$T/good/trusting.json" --run-dir "$T/project/mine/run" --new-run-dir
is "$(api_status GET /readyz)" 200 "it will do where the settings trust the project's group"
stop_daemon
rm -r "$STATE"
refused "a state directory there will not" "$T/project belongs to uid $other" --config "$T/good/trusting.json" --state-dir "$T/project/mine/state"
chmod 2777 project
refused "nor does it where others can write to it, too" "$T/project can be written by other users \\(" --config "$T/good/trusting.json" \
	--state-dir "$STATE" --run-dir "$T/project/mine/run"
chgrp "$other" project
chmod 2770 project
refused "nor where it is another group's" "$T/project belongs to uid $other" --config "$T/good/trusting.json" --state-dir "$STATE" \
	--run-dir "$T/project/mine/run"
echo '{"trusted_groups": ["none-such"]}' >good/none.json
refused "a group that is not there is told with its place" 'there is no group "none-such" here \(at /trusted_groups/0\)' --config "$T/good/none.json" \
	--state-dir "$STATE"
ln -s "$T/good" open/link
ln -s "$T/open/link/sub" good/link
refused "a link that leads through such a directory" "$T/open can be written" --state-dir "$T/good/link/state"
mkdir -m 777 filled
touch filled/stretto.db
refused "a state directory that others could fill, and that is not empty" 'not empty, and other users can write to it \(mode 0777\)' --state-dir "$T/filled"
is "$(stat -c %a filled)" 777 "it is left as it is"

# --- files that say what to do

echo '{"heartbeat": "20s"}' >good/config.json
chmod 664 good/config.json
refused "settings that the group can write to" "$T/good/config.json is not safe, since it can be written by other users of its group" --state-dir "$STATE" --config "$T/good/config.json"
cp good/config.json open/config.json
chmod 644 good/config.json open/config.json
refused "settings that others can replace" "$T/open can be written" --state-dir "$STATE" --config "$T/open/config.json"
ln -s good/config.json settings
mkdir -m 1777 tmp
ln -s "$T/good/victim" tmp/log
refused "a log that is a link" 'symbolic link, which is not followed' --state-dir "$STATE" --log-to "$T/tmp/log"
ok "the file that it leads to is not made" test ! -e good/victim
refused "a log that others can replace" "$T/open can be written" --state-dir "$STATE" --log-to "$T/open/log"
echo stretto_1_x >open/token
chmod 600 open/token
STRETTO_URL=http://127.0.0.1:1 STRETTO_TOKEN_FILE=$T/open/token status_is 2 "a token that others can replace" stretto status
like "$(cat err)" "$T/open can be written" "stretto says why"

# --- a sticky directory, as /tmp is, will do for what is ours

STATE=$T/tmp/state SOCKET=$T/tmp/state/stretto.sock
export STRETTO_URL=unix:$SOCKET
start_daemon --config "$T/settings" --log-to "$T/tmp/strettod.log"
is "$(api_status GET /readyz)" 200 "in a sticky directory the daemon runs, with a log and settings behind a safe link"
stop_daemon

# --- another user

if [ "$(id -u)" != 0 ] || ! as_other true; then
	skip "another user can be played only by root"
	done_testing
fi
mkdir -m 755 theirs tmp/me
mkdir -m 700 theirs/mine
chown $other theirs tmp/me
refused "a state directory in one of another user" "$T/theirs belongs to .*uid $other.* \(mode 0755\).*path_not_safe" --state-dir "$T/theirs/mine/state"
refused "or one that is another user's" "$T/tmp/me is not safe, since it belongs to .*uid $other" --state-dir "$T/tmp/me"
is "$(find theirs tmp/me -mindepth 1)" theirs/mine "and nothing was made there"
# the README's commands, where another user was there first
commands=$(sed -n "s|^    \\(mkdir -m 700 \\)\"/var/tmp/\\(.*\\)/var/tmp/|\\1\"$T/tmp/\\2$T/tmp/|p" "$srcdir/README.md")
like "$commands" 'XDG_STATE_HOME' "the README has commands for a directory in /var/tmp"
is "$(unset XDG_STATE_HOME; USER=me; eval "$commands" 2>mkdir.err; echo "[${XDG_STATE_HOME:-}] $(grep -c exists mkdir.err)")" "[] 1" \
	"they stop where another user made it first"
is "$(unset XDG_STATE_HOME; USER=us; eval "$commands"; echo "$XDG_STATE_HOME $(stat -c %a tmp/us)")" "$T/tmp/us 700" "and do what they should elsewhere"
ln -s "$T/good" tmp/way
chown -h $other tmp/way
refused "a link of another user" "$T/tmp/way belongs to" --state-dir "$T/tmp/way/state"

# who listens is looked at before anything is sent
cat >listen.py <<'EOF'
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o777); s.listen(4)
print("listens", flush=True)
for i in range(2):
    c, _ = s.accept()
    print("got", len(c.recv(65536)), flush=True)
EOF
mkdir -m 777 lair
as_other "$T/bin/python3" listen.py "$T/lair/s" >heard 2>&1 &
listener=$!
wait_for 10 'grep -q listens heard' || bail "no listener: $(cat heard)"
STRETTO_URL=unix:$T/lair/s STRETTO_TOKEN=stretto_1_secret status_is 4 "a listener that is another user's" stretto status
like "$(cat err)" "runs as another user, .*uid $other.*nothing was sent" "is said to be so"
STRETTO_URL=unix:$T/lair/s status_is 4 "nothing is submitted to it" stretto submit "$srcdir/examples/heat/heat.json"
wait $listener
is "$(grep got heard | xargs)" "got 0 got 0" "and it was sent nothing"

# orders in a pilot's inbox
STATE=$T/state SOCKET=$T/state/stretto.sock
export STRETTO_URL=unix:$SOCKET
jq -n --arg t "$T" '{name: "pilots", width: 1, allocation: {walltime: "10m", count: 1, cpus: 2},
	members: {command: ["sh", "-c", ("echo {i} >>" + $t + "/ran; until [ -e " + $t + "/go ]; do sleep 0.1; done")], retries: 0,
	parameters: {grid: {i: [0, 1]}}, resources: {walltime: "5m"}}}' >spec.json
echo '{"adapters": {"local": {"slots": 4}}}' >config.json
start_daemon --config config.json
ID=$(submit spec.json)
ok "a member runs in an allocation" wait_for 30 'test -s ran'
node=$(echo "$STATE/run/e$ID"/jobs/*/node0)
pilot=$(jq -r 'select(.what == "ready").pid' "$node/journal.jsonl")
kill -STOP "$pilot"
api PATCH "/v1/ensembles/$ID" '{"width": 2}' >/dev/null
ok "an order waits in its inbox" wait_for 20 'ls "$node"/inbox/*.jsonl'
chown $other "$node"/inbox/*.jsonl
kill -CONT "$pilot"
ok "one that another user wrote is not taken" wait_for 20 'grep -q -r "belongs to another user (uid $other): it is removed" "$node/.."'
ok "it is gone" wait_for 20 '[ -z "$(ls "$node/inbox")" ]'
is "$(cat ran)" 0 "and nothing was run"
kill_daemon
start_daemon --config config.json
touch go
ok "the daemon's own is taken" wait_ensemble "$ID" 60
is "$(jq -r .state ensemble.json) $(sort ran | xargs)" "complete 0 1" "and both members run once"
done_testing
