# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # T, STATE: lib.sh; what is set is for the tests
# An ensemble that has ended, whose output is in files of its own: its state directory is in $T/snapshot, what its
# members wrote in $T/before, what is to be left of its run directory in $left, and the names of its jobs in $jobs.
echo '{"archive_after": "1h", "adapters": {"local": {"slots": 4}}}' >"$T/later.json"
echo '{"archive_after": "0s", "adapters": {"local": {"slots": 4}}}' >"$T/now.json"
db() { sqlite3 -readonly "$STATE/stretto.db" "$1"; }
all_archived() { [ "$(db "SELECT (SELECT count(*) FROM job WHERE archived = 0) + (SELECT count(*) FROM archiving)")" = 0 ]; }
code() { jq -r .code "$T/api.body"; }
# outputs ID: all that attempts of an ensemble wrote, as the API tells it
outputs() {
	local index number stream
	while IFS='|' read -r index number; do
		for stream in stdout stderr; do
			echo "== $index $number $stream $(api_status GET "/v1/ensembles/$1/members/$index/$stream?attempt=$number")"
			cat "$T/api.body" <(echo)
		done
	done < <(db "SELECT idx, number FROM attempt WHERE ensemble = $1 AND outcome IS NOT NULL ORDER BY idx, number")
}
# ours ID: the files and directories below an ensemble that are not of its members
ours() { (cd "$STATE/run/e$1" && find . -mindepth 1 ! -name '*.archive' ! -path '*/mine' | sort | xargs); }

cat >"$T/member.sh" <<'END'
printf 'member %s, \0\1\377, attempt %s\n\n' "$1" "$STRETTO_ATTEMPT"
[ "$1" = 4 ] || echo "to stderr" >&2
[ "$1" != 2 ] || echo result >mine
[ "$1" != 3 ] || echo state >"$STRETTO_CHECKPOINT_DIR/mine"
[ "$1" != 4 ] || head -c 1500000 /dev/zero | tr '\0' x
[ "$1" != 1 ] || exit 3
END
jq -n --arg script "$T/member.sh" '{name: "p", width: 4, members: {command: ["sh", $script, "{i}"], parameters: {grid: {i: [0, 1, 2, 3, 4]}},
	retries: 1}}' >"$T/spec.json"
start_daemon --config "$T/later.json"
ID=$(submit "$T/spec.json")
ok "an ensemble ends" wait_ensemble "$ID" 60
outputs "$ID" >"$T/before"
is "$(grep -c '^== .* 200$' "$T/before")" 12 "all its output is there"
jobs=$(db "SELECT name FROM job ORDER BY id")
ok "in files of its own" test -e "$STATE/run/e$ID/members/0/0/a1/stdout"
stop_daemon
is "$(db "SELECT count(*) FROM attempt WHERE archive IS NOT NULL")" 0 "none of it is archived before its time"
cp -a "$STATE" "$T/snapshot"
left="./jobs ./members ./members/0 ./members/0/2 ./members/0/2/a1 ./members/0/3 ./members/0/3/checkpoint ./members/0/4 ./members/0/4/a1
	./members/0/4/a1/stdout"
left=$(xargs <<<"$left")
