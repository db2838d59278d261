# shellcheck shell=bash
# What benchmarks share: the harness of the end-to-end tests (tests/t/lib.sh: start_daemon, api, …, and nothing left
# behind), and figures.
#
#   . "${srcdir:-.}/tests/bench/lib.sh"
#   start_daemon
#   figure dispatch-rate 612 members/s "xargs -P8 -n1 true" 2400
#
# Figures go to standard output, everything else to stderr. A benchmark that times a baseline does so in turns with what it
# measures, and gives the medians of the rounds.

: "${srcdir:?}"
[ -n "${STRETTO_TEST_TIMED:-}" ] || exec 3>&1 1>&2 # once: the harness executes the script again, under its time limit
TEST_LIMIT=${TEST_LIMIT:-900}
BENCH_ROUNDS=${BENCH_ROUNDS:-5}
# shellcheck source=/dev/null
. "$srcdir/tests/t/lib.sh"

# median: of the numbers on standard input, one a line
median() { jq -n '[inputs] | sort | length as $n | if $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end'; }

now() { date +%s.%N; }

# ratio A B, and difference A B: with decimals, which the shell has not
ratio() { jq -n --argjson a "$1" --argjson b "$2" '$a / $b'; }
difference() { jq -n --argjson a "$1" --argjson b "$2" '$a - $b'; }

# cpu_seconds PID: what all threads of a process have used of the CPU, in seconds
cpu_seconds() {
	cat /proc/"$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.6f\n", ns / 1e9 }'
}

# figure NAME VALUE UNIT [BASELINE BASELINE_VALUE]: one line of the report. Three significant digits are what a run gives.
figure() {
	jq -n -c --arg name "$1" --argjson value "$2" --arg unit "$3" --arg baseline "${4:-}" --argjson base "${5:-null}" '
		def short: if . == null or . == 0 then . else
			pow(10; 3 - (fabs | log10 | floor) - 1) as $f | (. * $f | round) / $f end;
		{name: $name, value: ($value | short), unit: $unit} + if $baseline == "" then {} else
			{baseline: $baseline, baseline_value: ($base | short), ratio: ($value / $base | short)} end' >&3
}

# Not a test: what failed is told on stderr, and by the exit status.
bench_done() {
	[ -z "$DAEMON_PID" ] || stop_daemon
	exit $((TESTS_FAILED > 0))
}
