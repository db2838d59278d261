# shellcheck shell=bash
# shellcheck disable=SC2154 # lib.sh
# For tests of families of trainings: source it after lib.sh.

# family_spec COUNT EPOCHS [JQ]: COUNT trainings of EPOCHS, of which a job has time for ten at most; in spec.json. By
# hand, FAMILY_JQ makes them others.
family_spec() {
	jq -n --arg program "$srcdir/tests/t/epochs.sh" --argjson count "$1" --arg total "$2" '{name: "t", members: {
		command: [$program, $total, "0.25"], env: {EPOCHS_LOUD: "1"}, parameters: {grid: {i: [range($count)]}}, retries: 0,
		resources: {walltime: "4s"}, success: {file: "result"},
		checkpoint: {before: "1500ms", signal: "USR1", grace: "2s", glob: "*.ckpt", attempts: 9,
			resume: ["--restart", "{checkpoint}"]}}} | '"${3:-.} | ${FAMILY_JQ:-.}" >"$T/spec.json"
}
db() { sqlite3 -readonly "$STATE/stretto.db" ".timeout 5000" "$1"; }
family() { api GET "/v1/ensembles/$1" | jq -c "$2"; }
is_over() { [ "$(family "$1" '[(.family // .).state, (.family // .).members.unfinished]')" = '["complete",0]' ]; }
newest_is_complete() { [ "$(family "$1" '(.family // .).state')" = '"complete"' ]; }

# Prints what is wrong with a family whose members all succeeded: ROOT MEMBERS EPOCHS. One that was interrupted computes
# the epoch again in which that was, and one more for each checkpoint of its own that was cut in half (a line with its
# index in cuts); of one that did not stop by itself, what it wrote last may not be whole.
family_faults() {
	local i result in_family="ensemble IN (SELECT id FROM ensemble WHERE id = $1 OR root = $1)"
	seq 1 "$3" >"$T/wanted"
	touch "$T/cuts"
	# of the attempts that succeeded: one that was interrupted just after its end is done once more
	db "SELECT idx, '$STATE/run/e' || ensemble || '/members/0/' || idx || '/a' || number || '/result' FROM attempt
		WHERE $in_family AND outcome = 'succeeded' ORDER BY idx" >"$T/results"
	cut -d '|' -f 1 "$T/results" | cmp -s - <(seq 0 $(($2 - 1))) || echo "succeeded: $(cut -d '|' -f 1 "$T/results" | xargs)"
	while IFS='|' read -r i result; do
		cmp -s "$result" "$T/wanted" || echo "the history of $i: $(tr '\n' ' ' <"$result")"
	done <"$T/results"
	db "SELECT idx, ensemble, number, exit_code IS 0 FROM attempt WHERE $in_family ORDER BY idx, ensemble, number" |
		while IFS='|' read -r i ensemble number stopped; do
			echo "$i $stopped $(sed -n '1p;$p' "$STATE/run/e$ensemble/members/0/$i/a$number/stdout" 2>/dev/null | xargs)"
		done | awk -v cuts="$T/cuts" '
		BEGIN { while ((getline index_of_cut <cuts) > 0) allowed[index_of_cut]++ }
		$1 != member { member = $1; last = 0 }
		NF == 4 { if ($3 <= last && stopped) twice[member] += last - $3
			stopped = $2; last = $4 }
		END { for (m in twice) if (twice[m] > allowed[m])
			print "member " m ": " twice[m] " epochs too many were computed twice, for " allowed[m] + 0 " cuts" }'
	db "SELECT idx || ' is newest in ' || count(*) FROM member WHERE $in_family AND successor IS NULL GROUP BY idx HAVING count(*) <> 1;
		SELECT 'attempts of ' || a.idx || ' at once' FROM attempt a JOIN attempt b USING (idx) WHERE a.$in_family AND b.$in_family
			AND (a.ensemble, a.number) < (b.ensemble, b.number) AND a.ended > b.started;
		SELECT idx || ' has spent a retry' FROM member WHERE $in_family AND failures > 0;
		SELECT parent || ' has ' || count(*) || ' follow-ups' FROM ensemble WHERE root = $1 GROUP BY parent HAVING count(*) > 1;
		SELECT 'handed over: ' || count(*) FROM handover HAVING count(*) > 0"
}

# family_cron SECONDS: calls follow-up --all, with that time in between, until there is $T/stop, but while there is
# $T/hold
family_cron() {
	until [ -e "$T/stop" ]; do
		[ -e "$T/hold" ] || {
			stretto follow-up --all >>"$T/cron.out" 2>>"$T/cron.err"
			echo "$?" >>"$T/cron.status"
		}
		sleep "$1"
	done
}
# Prints which answers of such calls were wrong; nothing if all were right
family_cron_faults() {
	grep -v '^stretto:' "$T/cron.err"
	grep -v -E '^ensemble [0-9]+ follows up [0-9]+: [0-9]+ members, (running|paused|complete)$' "$T/cron.out"
	sort -u "$T/cron.status" | grep -v -x '[04]' # 4: no daemon
}

# family_cut ROOT: while the daemon is down, the newest checkpoint of a member that waits for a follow-up is cut in
# half, where it has another one. 1 if there is none.
family_cut() {
	local index path size
	while IFS='|' read -r index path size _; do
		path=$STATE/run/e$1/members/0/$index/checkpoint/$path
		[ "$(stat -c %s "$path" 2>/dev/null)" = "$size" ] || continue
		truncate -s $((size / 2)) "$path"
		echo "$index" >>"$T/cuts"
		return 0
	done < <(db "SELECT m.idx, c.path, c.size, max(c.number) FROM member m JOIN member_checkpoint c ON c.home = $1 AND c.idx = m.idx
		WHERE m.ensemble IN (SELECT id FROM ensemble WHERE id = $1 OR root = $1) AND m.successor IS NULL AND m.state = 'unfinished'
		GROUP BY m.idx HAVING count(*) > 1 ORDER BY random()")
	return 1
}
