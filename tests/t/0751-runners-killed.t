#!/usr/bin/env bash
# The daemon, runners at every call that they make, and whole sessions of members are killed, and runners stopped, all
# in one run: what was answered holds, nothing runs twice, a lost attempt costs no retry, nothing is left behind.
# ROUNDS and SEED in the environment ask for more, or for the same again.
TEST_LIMIT=${LIMIT:-300} MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
echo '{"adapters": {"local": {"slots": 6}}, "python": "/bin/true", "log_level": "warning", "archive_after": "0s"}' >"$T/config.json"

kills --rounds "${ROUNDS:-12}" --calm 4 --life 1.5 --runners "${RUNNERS:-15}" --sessions "${SESSIONS:-6}"
is "$(told accepted)" "" "what was answered is there, after every crash, and nothing that nobody asked for"
is "$(told answers)" "" "every answer was one to expect"
is "$(told twice)" "" "no member met itself, or what was left of it"
is "$(told history)" "" "attempts' history is whole, and losses cost no retry"
is "$(told ledger)" "" "what the members saw is what the store says, and nothing lived on after its attempt's end"
is "$(told books)" "" "the books balance"
is "$(told left)" "" "nothing is left in the temporary directory"
is "$(told test)" "" "the test went as planned"
ok "runners were killed: $(report '.kills["stretto-run"]')" test "$(report '.kills["stretto-run"] | add // 0')" -gt 0
ok "sessions were killed: $(report '.["sessions killed"]')" test "$(report '.["sessions killed"]')" -gt 0
ok "runners of running members were killed: $(report '.["runners killed"]')" \
	test "$(report '.["runners killed"]')" -gt 0
ok "attempts were lost: $(report '.books.outcomes.lost // 0')" test "$(report '.books.outcomes.lost // 0')" -gt 0
done_testing
