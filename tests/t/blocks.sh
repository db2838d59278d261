# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# run_blocks PAGE MARKER: every ```sh block after a line `<!-- MARKER -->` runs as it stands, in order, in one shell, as
# a user would paste them. A line `#=> REGEX` in a block says what its output must have. The blocks start the daemon
# themselves, in its default place.
run_blocks() {
	rm -f block.*
	awk -v marker="<!-- $2 -->" '$0 == marker { armed = 1; next }
		armed && /^```sh$/ { n++; inside = 1; armed = 0; next }
		/^```$/ { inside = 0 }
		inside { print > ("block." n) }' "$1"
	ok "it has tested examples" test -e block.1
	unset STRETTO_URL
	SOCKET=$XDG_STATE_HOME/stretto/stretto.sock # for is_ready
	rm -f "$T/bin/jq"
	hash -r
	local n=1 status regex
	while [ -e block.$n ]; do
		grep -v '^#=>' block.$n >commands
		# shellcheck disable=SC1091
		. ./commands >out 2>&1 </dev/null
		status=$?
		if grep -q '^strettod' commands; then wait_for 30 is_ready || status=1; fi
		if [ $status -eq 0 ]; then pass "block $n: $(head -n 1 commands)"; else
			fail "block $n: $(head -n 1 commands)"
			diag "exit status $status"
			diag "$(cat out)"
		fi
		while read -r regex; do
			ok "its output has $regex" grep -q -E -- "$regex" out
		done < <(sed -n 's/^#=> //p' block.$n)
		n=$((n + 1))
	done
}
