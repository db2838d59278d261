#!/usr/bin/env bash
# Members print a hundred megabytes, as one line and as many: the dashboard, `stretto logs` and `stretto status` show it
# as text, and nobody takes more of it into memory than is shown.
TEST_LIMIT=240
# shellcheck source=tests/t/lib.sh
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
# shellcheck source=tests/t/dashboard.sh
. "$srcdir/tests/t/dashboard.sh"
export LC_ALL=C.UTF-8
start_daemon
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$DAEMON_PID/status"; }
before=$(peak)

# Both end with what a terminal, or a page, must not take for its own. The line is a hole, but for its end.
cat >member <<'X'
#!/bin/sh
words='\033[31mred\033]0;title\007 \342\200\256turned <script>alert(1)</script> <img src=x onerror=alert(2)> \377'
case $1 in
0) truncate -s 100000000 /dev/stderr && printf "$words\n" >&2 ;;
1) { yes '<b>a line</b> of many' | head -c 100000000; printf "\n$words\n"; } >&2 ;;
esac
echo short
exit $((3 + $1))
X
chmod +x member
jq -n --arg member "$T/member" '{name: "talks", width: 2, members: {command: [$member, "{i}"], retries: 0, parameters: {grid: {i: [0, 1]}}}}' >spec.json
submit spec.json >/dev/null
wait_ensemble 1 120 || bail "it does not end"
is "$(jq .members.failed ensemble.json) $(find "$STATE/run/e1" -name stderr -size +100000000c | wc -l)" "2 2" "two members fail that have printed a hundred megabytes"

# --- the command line

# measured COMMAND...: its output in out; the most memory that it had, in kB, in $KB
measured() {
	python3 - "$@" >out 2>err <<-'P'
		import resource, subprocess, sys
		subprocess.run(sys.argv[1:], check=True)
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
	P
	KB=$(tail -n 1 err)
}
measured stretto status 1
little=$KB
is "$(grep -c 'failed: exit status [34]' out)" 2 "status tells how both failed"
like "$(cat out)" '<script>alert\(1\)</script>' "with what they printed last"
is "$(grep -c 'failed: exit status [34]: ?\[31mred' out)" 2 "also after a hole"
ok "in a few lines" test "$(wc -c <out)" -lt 10000
is "$(grep -c $'[\e\a]\|\u202e' out)" 0 "in a way that does nothing to a terminal"
for index in 0 1; do
	measured stretto logs 1.$index --stderr
	ok "logs prints all that member $index printed, as it is" cmp out "$(find "$STATE/run/e1" -path "*/$index/a1/stderr")"
	ok "and takes no memory for it ($KB kB; status takes $little)" test "$KB" -lt $((little + 50000))
done

# --- the page

use_dashboard dashboard_large.py "large output: no message"
after=$(peak)
ok "the daemon has not grown with it (from $before to $after kB)" test $((after - before)) -lt 80000
done_testing
