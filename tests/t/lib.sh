# shellcheck shell=bash
# Harness of the end-to-end tests: TAP, a daemon of the test's own, and a promise that nothing is left behind.
#
#   . "${srcdir:-.}/tests/t/lib.sh"
#   start_daemon
#   is "$(api GET /v1/ensembles | jq -r '.ensembles | length')" 0 "no ensemble yet"
#   done_testing
#
# Set before sourcing: TEST_LIMIT, seconds the whole test may take where little else runs (120); MANY_RUNNERS=1 where
# there are hundreds of members, none of which is peculiar. KEEP=1 in the environment keeps its directory. All limits
# are there for what never comes, so that STRETTO_TEST_PATIENCE (5) times as long is waited for it. Afterwards: $T is
# the test's directory, the working directory; $STATE the state directory; $SOCKET the daemon's socket; `stretto` and
# `strettod` are on PATH and STRETTO_URL is set. srcdir and builddir are absolute.

if [ -z "${STRETTO_TEST_TIMED:-}" ]; then # the limit holds for whatever the test is waiting for
	STRETTO_TEST_TIMED=1 exec timeout -k 20 "$((${TEST_LIMIT:-120} * ${STRETTO_TEST_PATIENCE:-5}))" "$BASH" "$0" "$@"
fi
unset STRETTO_TEST_TIMED
set -u
PATIENCE=${STRETTO_TEST_PATIENCE:-5}
LEAST=60 # seconds that are waited at least

export srcdir builddir
srcdir=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
T=$(mktemp -d "${TEST_ROOT:-/tmp}/st.XXXXXX") || exit 99 # short: a socket's path has 107 bytes
cd "$T" || exit 99
STATE=$T/state
SOCKET=$STATE/stretto.sock
DAEMON_LOG=$T/strettod.log
DAEMON_PID=
export STRETTO_URL=unix:$SOCKET HOME=$T/home XDG_STATE_HOME=$T/home/state PATH=$builddir:$PATH
export STRETTO_TEST=$T # every process that the test starts carries this in its environment
unset STRETTO_TOKEN http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
mkdir -p "$HOME"
mkfifo "$T/.rest" # nothing ever comes out of it

# Sanitizers: leaks are looked for in our own programs only, by options in a file of each one's name.
# Of the stack where memory was allocated five calls are kept: to follow it to its end would take a tenth of the time.
# So does the look for leaks at the end of each of hundreds of runners. Memory that was freed is kept from use up to 8
# MB, not 256: of what PyTorch allocates, each page would be a fresh one.
export ASAN_OPTIONS="malloc_context_size=5:quarantine_size_mb=8:detect_leaks=0:include_if_exists=$T/asan.%b" UBSAN_OPTIONS=print_stacktrace=1
for program in strettod stretto; do echo detect_leaks=1 >"$T/asan.$program"; done
[ -n "${MANY_RUNNERS:-}" ] || echo detect_leaks=1 >"$T/asan.stretto-run"
# program FILE COMMAND [NAME=VALUE]: a program that is that command, with that in its environment
program() { printf '#!/bin/sh\n%s exec %s "$@"\n' "${3:-}" "$2" >"$1" && chmod +x "$1"; }
# python_program FILE [NAME=VALUE]: Python as the tests use it. The daemon asks each Python at its start whether it has
# torch and numpy; here configure has asked already, and hundreds of daemons need not wait for it to look.
# (STRETTO_TEST_ASKS_PYTHON has it asked.)
python_program() {
	program "$1" "${STRETTO_PYTHON:-/usr/bin/python3}" "${2:-}"
	[ -z "${STRETTO_PYTHON:-}" ] || [ -n "${STRETTO_TEST_ASKS_PYTHON:-}" ] || sed -i '1a case "${2:-}" in *find_spec*) exit 0 ;; esac' "$1"
}
# Python is the one that configure found: what is first on PATH may be a script that looks for one each time. A
# sanitized library can be loaded into it only where the sanitizer was loaded first: so it is for $STRETTO_PYTHON, and
# for what the daemon starts, and nothing else. It takes its time, and some programs, curl among them, hang under it.
mkdir "$T/bin" "$T/bin/first"
PATH=$T/bin:$PATH
python_program "$T/bin/python3"
# jq 1.6 takes 30 ms to start, some thousand times in all; gojq, which is the same language, a tenth of that, and sorts
# all keys, for which jq wants $JQ_SORTS. (The examples of the documents run with jq, as their users do: run_blocks.)
# shellcheck disable=SC2034 # for tests
JQ_SORTS=-S
if [ "${STRETTO_TEST_JQ:-gojq}" = gojq ] && gojq=$(command -v gojq); then
	ln -s "$gojq" "$T/bin/jq"
	# shellcheck disable=SC2034
	JQ_SORTS=
fi
case ${STRETTO_SANITIZE:-no} in
*address*)
	# with the C++ library, whose exceptions the sanitizer looks for at its start: PyTorch throws some
	in_python="LD_PRELOAD=$(gcc -print-file-name=libasan.so):libstdc++.so.6"
	# PyTorch takes twice as long under a sanitizer. A test that is mostly PyTorch says PLAIN_PYTHON=yes: its Python
	# uses the same libraries without sanitizers.
	plain=$builddir/tests/plain/.libs
	[ -z "${PLAIN_PYTHON:-}" ] || in_python="STRETTO_LIBRARY=$plain/libstretto.so STRETTO_TRAIN_LIBRARY=$plain/libstretto-train.so"
	python_program "$T/bin/first/python3" "$in_python"
	program "$T/bin/strettod" "$builddir/strettod" "PATH=$T/bin/first:\$PATH"
	export STRETTO_PYTHON=${STRETTO_PYTHON:+$T/bin/first/python3}
	;;
esac

# --- TAP

TESTS_RUN=0
TESTS_FAILED=0

diag() { local text=$*; echo "# ${text//$'\n'/$'\n# '}"; }
pass() { TESTS_RUN=$((TESTS_RUN + 1)); echo "ok $TESTS_RUN - $*"; }
fail() { TESTS_RUN=$((TESTS_RUN + 1)); TESTS_FAILED=$((TESTS_FAILED + 1)); echo "not ok $TESTS_RUN - $*"; return 0; }
skip() { TESTS_RUN=$((TESTS_RUN + 1)); echo "ok $TESTS_RUN # SKIP $*"; }
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
bail() { echo "Bail out! $*"; TESTS_FAILED=$((TESTS_FAILED + 1)); exit 1; }

# ok NAME COMMAND...: passes where the command succeeds; what it printed is shown where it does not.
ok() {
	local name=$1 out
	shift
	[ "$1" != wait ] || bail "ok: a subshell cannot wait for a process that still runs"
	if out=$("$@" 2>&1); then pass "$name"; else fail "$name"; diag "$out"; fi
}
# is GOT WANTED NAME
is() {
	if [ "$1" = "$2" ]; then pass "$3"; else fail "$3"; diag "got:    $1"; diag "wanted: $2"; fi
}
# like GOT REGEX NAME (extended regular expression, anywhere)
like() {
	if [[ $1 =~ $2 ]]; then pass "$3"; else fail "$3"; diag "got:    $1"; diag "wanted: $2"; fi
}
# status_is WANTED NAME COMMAND...: the exit status; standard output and error are left in $T/out and $T/err.
status_is() {
	local wanted=$1 name=$2 got=0
	shift 2
	"$@" >"$T/out" 2>"$T/err" || got=$?
	if [ "$got" = "$wanted" ]; then pass "$name"; else
		fail "$name"
		diag "exit status $got, wanted $wanted, of: $*"
		diag "$(tail -n 20 "$T/out" "$T/err")"
	fi
}

# conforms WHAT CONFIG NAME=VALUE...: the conformance suite of adapters, with these settings, of which %d is the number
# of CPUs.
conforms() {
	if [ ! -x "$builddir/tests/unit/test_adapter_conformance" ]; then
		skip "$1: the conformance suite is not built (no cmocka)"
		return
	fi
	ok "$1: the conformance suite passes" env STRETTO_ADAPTER_CONFIG="$2" "${@:3}" "$builddir/tests/unit/test_adapter_conformance"
}

# rest BEGAN TRIED: pause in waiting for something, since and in a try that was begun at these times, in microseconds.
# What is waited for is what needs the processors: tries take a third of one at most, and are rarer the longer it takes.
# The pause itself takes no process.
rest() {
	local now=${EPOCHREALTIME/[.,]/} pause=50000 seconds
	[ $(((now - $1) / 10)) -le $pause ] || pause=$(((now - $1) / 10))
	[ $((2 * (now - $2))) -le $pause ] || pause=$((2 * (now - $2)))
	[ $pause -le 500000 ] || pause=500000
	printf -v seconds 0.%06d $pause
	[ -e "$T/.rest" ] || bail "the test's directory is gone"
	read -r -t "$seconds" seconds <>"$T/.rest"
	return 0
}

# wait_for SECONDS CONDITION: a shell command, tried until it succeeds; fails at the limit, PATIENCE times as many
# seconds, of which $LEAST are the least.
wait_for() {
	local wait_from=$SECONDS wait_until=$((SECONDS + ($1 > LEAST ? $1 : LEAST) * PATIENCE)) wait_began=${EPOCHREALTIME/[.,]/} wait_tried
	while wait_tried=${EPOCHREALTIME/[.,]/} && ! eval "$2" >/dev/null 2>&1; do
		[ $SECONDS -lt $wait_until ] || { diag "waited $((SECONDS - wait_from)) s in vain for: $2"; return 1; }
		rest "$wait_began" "$wait_tried"
	done
}

# --- the daemon

# api METHOD PATH [BODY]: the answer's body to stdout, its status to $T/api.status. BODY may be @FILE.
api() {
	if [ -x "$builddir/tests/t/ask" ]; then # as curl would, in a tenth of the time
		"$builddir/tests/t/ask" "$T" "$SOCKET" "$@"
		return
	fi
	local method=$1 path=$2
	shift 2
	[ $# -eq 0 ] || set -- -H 'Content-Type: application/json' --data-binary "$1"
	curl -s -S -m 100 --unix-socket "$SOCKET" -X "$method" -o "$T/api.body" -w '%{http_code}' "$@" "http://stretto$path" \
		>"$T/api.status" || return 1
	cat "$T/api.body"
}
# api_status METHOD PATH [BODY]: the status to stdout, the body to $T/api.body.
api_status() { api "$@" >/dev/null; cat "$T/api.status"; }

is_ready() { [ "$(api_status GET /readyz 2>/dev/null)" = 200 ]; }

# start_daemon [OPTION...]: returns when it is ready; a daemon that cannot start ends the test.
# shellcheck disable=SC2120 # the options are for the tests to give
start_daemon() {
	strettod --state-dir "$STATE" "$@" </dev/null >>"$DAEMON_LOG" 2>&1 &
	DAEMON_PID=$!
	wait_for 30 "is_ready || ! kill -0 $DAEMON_PID"
	is_ready || bail "the daemon did not get ready"
}

# stop_daemon: SIGTERM; its exit status in DAEMON_STATUS (non-zero also where a sanitizer found something).
stop_daemon() {
	[ -n "$DAEMON_PID" ] || return 0
	kill -TERM "$DAEMON_PID" 2>/dev/null
	DAEMON_STATUS=0
	wait_for 30 "! kill -0 $DAEMON_PID" || kill -KILL "$DAEMON_PID"
	wait "$DAEMON_PID" 2>/dev/null || DAEMON_STATUS=$?
	DAEMON_PID=
}

# kill_daemon: SIGKILL, as a crash would.
kill_daemon() {
	kill -KILL "$DAEMON_PID" 2>/dev/null
	wait "$DAEMON_PID" 2>/dev/null
	DAEMON_PID=
}

# submit FILE: the new ensemble's id to stdout.
submit() { api POST /v1/ensembles "@$1" | jq -r .id; }

# wait_ensemble ID SECONDS: until it is complete, cancelled or failed; its object is then in $T/ensemble.json. The limit
# is as that of wait_for.
wait_ensemble() {
	local id=$1 until=$((SECONDS + ($2 > LEAST ? $2 : LEAST) * PATIENCE)) began=${EPOCHREALTIME/[.,]/} tried
	# the ensemble's own state is the first in it; jq would take longer than all the rest
	until tried=${EPOCHREALTIME/[.,]/} && api GET "/v1/ensembles/$id" >"$T/ensemble.json" 2>/dev/null &&
		[[ $(<"$T/ensemble.json") =~ \"state\":\"([a-z]*)\" && ${BASH_REMATCH[1]} = @(complete|cancelled|failed) ]]; do
		[ $SECONDS -lt $until ] || { diag "ensemble $id has not ended: $(cat "$T/ensemble.json")"; return 1; }
		rest "$began" "$tried"
	done
}

# --- the end

# Processes that the test started and that still run: their pids. The test's own shells do not carry the mark, since
# they were there before it was made.
left_behind() {
	(
		unset STRETTO_TEST # or it would find its own helpers
		grep -l -s -z -x "STRETTO_TEST=$T" /proc/[0-9]*/environ | cut -d / -f 3
	)
}

# job_fd PID: the job descriptor that a runner which still runs was handed by its daemon
jobfd() {
	local fd
	while read -r fd; do
		if grep -q -a '^{"version":1,"job":' "$fd"; then cat "$fd" && echo && return; fi
	done < <(find "/proc/$1/fd" -lname '/memfd:stretto*')
}

describe() { # PID...
	local pid
	for pid; do echo "$pid $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | cut -c 1-120)"; done
}

# The last call of every test: the daemon ends well, nothing is left behind, and the plan is told.
done_testing() {
	local left
	if [ -n "$DAEMON_PID" ]; then
		stop_daemon
		is "$DAEMON_STATUS" 0 "the daemon ends with status 0 on SIGTERM"
	fi
	# shellcheck disable=SC2016 # for eval
	[ $TESTS_FAILED -gt 0 ] || wait_for 60 '[ -z "$(left_behind)" ]' || true
	left=$(left_behind)
	# shellcheck disable=SC2086 # pids
	is "$(describe $left)" "" "no process is left behind"
	echo "1..$TESTS_RUN"
	[ $TESTS_FAILED -eq 0 ]
	exit
}

cleanup() {
	local status=$? left
	trap - EXIT TERM INT
	for _ in 1 2 3 4 5; do
		left=$(left_behind)
		[ -n "$left" ] || break
		# shellcheck disable=SC2086 # pids
		kill -KILL $left 2>/dev/null
	done
	wait 2>/dev/null
	if [ $TESTS_FAILED -gt 0 ] || [ $status -ne 0 ]; then
		[ ! -s "$DAEMON_LOG" ] || { echo "# the daemon's log ends:"; tail -n 60 "$DAEMON_LOG" | sed 's/^/# /'; }
	fi
	cd /
	if [ "${KEEP:-}" = 1 ]; then echo "# kept: $T"; else rm -rf "$T"; fi
	exit $status
}
trap cleanup EXIT
trap 'bail "the time limit of $((${TEST_LIMIT:-120} * PATIENCE)) s has been reached"' TERM
trap 'exit 130' INT
