#!/usr/bin/env bash
# The daemon is killed sixty times, right before or after chosen calls of the C library and at random moments, while
# clients change ensembles and members run: what was answered holds, nothing runs twice, the books balance.
# ROUNDS and SEED in the environment ask for more, or for the same again.
TEST_LIMIT=${LIMIT:-300} MANY_RUNNERS=1
. "${srcdir:-.}/tests/t/lib.sh" || exit 99
. "$srcdir/tests/t/kills.sh"
echo '{"adapters": {"local": {"slots": 6}}, "python": "/bin/true", "log_level": "warning", "archive_after": "0s"}' >"$T/config.json"

kills --rounds "${ROUNDS:-60}" --storm "${STORM:-7}"
is "$(told accepted)" "" "what was answered is there, after every crash, and nothing that nobody asked for"
is "$(told answers)" "" "every answer was one to expect"
is "$(told twice)" "" "no member met itself"
is "$(told history)" "" "attempts' history is whole, and none was taken for lost"
is "$(told ledger)" "" "what the members saw is what the store says"
is "$(told books)" "" "the books balance"
is "$(told left)" "" "nothing is left in the temporary directory"
is "$(told test)" "" "the test went as planned"
ok "the daemon was killed $(report .lives) times" test "$(report .lives)" -ge "${ROUNDS:-60}"
done_testing
