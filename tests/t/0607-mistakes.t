#!/bin/bash
# What people get wrong on the command line and in the settings is answered with the place, and harms nothing.
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99

# --- settings
refused() { # NAME PATTERN SETTINGS
	printf '%s' "$3" >settings.json
	status_is 1 "settings: $1" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE" --config settings.json
	like "$(tail -n 1 err)" "$2" "the place is named"
}
refused "a comma is missing" 'settings\.json:2:[0-9]+: ' '{"log_level": "info"
"heartbeat": "1s"}'
refused "a list" 'settings\.json is not a JSON object, but an array' '[]'
refused "an unknown key" 'unknown key "frob".*\(at /frob\) \(spec_unknown_key\)$' '{"frob": 1}'
refused "an adapter's section of another type" '\(at /adapters/local\) \(config_value\)$' '{"adapters": {"local": []}}'
refused "what the daemon takes out of it" '\(at /adapters/local/max_jobs\) \(config_value\)$' '{"adapters": {"local": {"max_jobs": 0}}}'
refused "a URL without a host" '"http://" .*\(at /adapters/slurmrestd/url\) \(config_value\)$' '{"adapters": {"slurmrestd": {"url": "http://"}}}'

status_is 1 "a log that cannot be written" timeout $((20 * PATIENCE)) strettod --state-dir "$STATE" --log-to "$T/nowhere/log"
is "$(grep -c "the log $T/nowhere/log cannot be written: No such file" err)" 1 "is told, once"

# --- a URL
for url in http:// https:/// http://:80 http://localhost:99999 'http://localhost?x' ftp://localhost; do
	status_is 2 "--url $url" stretto --url "$url" status
	like "$(cat err)" "^stretto: \"${url//\?/\\?}\" " "is named"
done

jq -n --arg dir "$T/nowhere" '{plugin_dir: $dir}' >settings.json
start_daemon --config settings.json
is "$(api GET /v1/adapters | jq -c '[.refused[] | [.path, .code]]')" "[[\"$T/nowhere\",\"plugin_unusable\"]]" \
	"a directory of plugins that was chosen and is not there is told"
status_is 1 "by the command, too" stretto adapters
like "$(grep '^refused: ' out)" "$T/nowhere: No such file" "with its name"
is "$(api_status POST /v1/ensembles '{"name": "a\u0000b"}') $(jq -r .detail api.body)" '400 line 1, column 19: a string cannot hold \u0000' \
	"what no string can hold is said in words of the format's"

# --- a backup replaces files, and nothing else
mkdir folder
ln -s nowhere dangling
mkfifo pipe
for name in folder dangling pipe; do
	status_is 2 "a backup does not replace a $name, not by --force either" stretto backup --force $name
done
ok "which are there still" test -d folder -a -L dangling -a -p pipe
status_is 2 "nor has it no name" stretto backup ''

# --- a daemon that hangs
kill -STOP "$DAEMON_PID"
stretto status >status.out 2>status.err &
looking=$!
stretto backup hung.db >backup.out 2>backup.err &
saving=$!
env --default-signal=INT stretto backup other.db >other.out 2>&1 & # the shell has it ignored in the background
other=$!
wait_for 20 'find /proc/$other/fd -lname "*(deleted)" | grep -q .' # its file has no name yet
kill -INT $other
wait $other
is $? 130 "Ctrl-C ends the waiting for a backup"
is "$(find . -name 'other.db*')" "" "and leaves nothing of it"
wait $looking
is $? 4 "a daemon that hangs is given up"
like "$(cat status.err)" "the daemon at unix:$SOCKET takes connections but has not answered" "and nobody is told to start another"
wait $saving
is $? 4 "by a backup, too"
is "$(find . -name 'hung.db*')" "" "of which nothing is left"
kill -CONT "$DAEMON_PID"
status_is 0 "it goes on" stretto status

done_testing
