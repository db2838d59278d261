# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests of the dashboard in a browser: source it after lib.sh.

# The browser that is used, or the test is skipped.
chromium=$(command -v chromium || true)
[ -n "$chromium" ] || skip_all "there is no chromium here"

# axe-core, which looks for what keeps people out, from npm by web/package-lock.json: once for a build tree. AXE is
# empty where npm or its registry cannot be reached.
get_axe() {
	local kept=$builddir/tests/npm lock=$srcdir/web/package-lock.json
	mkdir -p "$kept"
	(
		flock 9
		cmp -s "$lock" "$kept/package-lock.json" && [ -e "$kept/node_modules/axe-core/axe.min.js" ] && exit 0
		cp -f "$srcdir/web/package.json" "$lock" "$kept" && cd "$kept" && npm ci --ignore-scripts --no-audit --no-fund
	) 9>"$kept/lock" >"$T/npm.log" 2>&1 && AXE=$(cd "$kept" && pwd)/node_modules/axe-core/axe.min.js
	export AXE
}
AXE=
get_axe

# tell_of FILE LAST: the lines of the browser's part are this test's; LAST begins the last of them.
tell_of() {
	local line
	[ -s "$1" ] || diag "$(cat errors; tail -n 5 chromium.log)"
	while IFS= read -r line; do
		case $line in
		ok\ *) pass "${line#ok }" ;;
		not\ ok\ *) fail "${line#not ok }" ;;
		*) echo "$line" ;;
		esac
	done <"$1"
	[ -n "$AXE" ] || { skip "axe-core: npm or its registry cannot be reached" && diag "$(tail -n 3 npm.log)"; }
	ok "which was all of it" grep -q "^ok $2" "$1"
}

# use_dashboard PROGRAM LAST [ARGUMENT...]: the browser's part, from beginning to end.
use_dashboard() {
	local program=$1 last=$2
	shift 2
	"$T/bin/python3" "$srcdir/tests/t/$program" "$SOCKET" "$chromium" "$T" "$@" >told 2>errors
	tell_of told "$last"
}
