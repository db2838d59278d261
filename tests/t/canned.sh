# shellcheck shell=bash
# A server in the daemon's place, whose answers a test writes down (canned.py); sourced after lib.sh.

# shellcheck disable=SC2154 # of lib.sh
# start_canned: returns when it listens at $SOCKET
start_canned() {
	answers </dev/null
	"${STRETTO_PYTHON:-python3}" "$srcdir/tests/t/canned.py" "$SOCKET" "$T/answers" "$T/asked" >>"$DAEMON_LOG" 2>&1 &
	CANNED_PID=$!
	# shellcheck disable=SC2016 # for eval
	wait_for 30 '[ -S "$SOCKET" ]' || bail "the server of written answers does not listen"
}
stop_canned() {
	kill "$CANNED_PID"
	wait "$CANNED_PID" 2>/dev/null
}

# answers: lines METHOD PATH STATUS BODY, on standard input. What was asked before is forgotten.
answers() { cat >"$T/answers" && : >"$T/asked" && : >"$T/asked.headers"; }
# asked: the requests so far, METHOD PATH, on one line
asked() { cut -d ' ' -f 1,2 "$T/asked" | paste -s -d '|'; }
# body_asked: the body of the last one
body_asked() { tail -n 1 "$T/asked" | cut -d ' ' -f 3-; }

# plain FILE...: what differs from day to day and from place to place is the same, and the number of blanks does not
# matter
plain() { sed -E "s/[0-9]+ d ago/N d ago/g; s|$T/|T/|g; s/  +/ /g; s/ $//" "$@"; }

# values: of each line of standard input that has some: numbers, names with digits or of one capital, states, "not finite" and
# what there is none of
values() {
	awk 'BEGIN { n = split("pending submitted running succeeded failed unfinished cancelled stopped complete paused waiting diverged ranked damaged", names)
			for (i = 1; i <= n; i++) states[names[i]] = 1 }
		{ gsub(/not finite/, "not-finite"); line = ""
		  for (i = 1; i <= NF; i++) {
			word = $i
			gsub(/^[([{"]+|[])}",;:.]+$/, "", word)
			if (word ~ /[0-9]/ || word ~ /^([A-Z]|not-finite|-)$/ || word in states) line = line " " word
		  }
		  if (line != "") print substr(line, 2) }'
}

# prints NAME ARGUMENT...: on standard output, the values that standard input has, in its lines and order, whatever the
# words are between them; exactly that, where it is for programs. Nothing may be asked for that has no answer.
prints() {
	local what=values
	case " ${*:2} " in *' --csv '* | *' --markdown '* | *' --json '* | *' --mllog '* | ' hosts '*) what=cat ;; esac
	stretto "${@:2}" >out 2>err
	[ $? -le 1 ] || echo "and that has failed" >>err # 1: what is so is not what was wished for
	is "$(plain out | $what)$(grep -E '^and that has failed|No answer to this' err)" "$(plain | $what)" "$1"
}
