# What is held while a training does not read for a minute (BENCH_HOLD seconds) and eight members push: by the rank, and by the
# largest member, against the bound that follows from capacity, window and reading ahead; and by how much they still grew
# after the first quarter. Then everything is drawn, and nothing may be missing. tests/unit/test_stream_memory.c has the
# same in 3 seconds.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

make -s -C "${builddir:?}" tests/bench/stream_hold || bail "cannot build tests/bench/stream_hold"

hold() { # NAME BYTES
	timeout $((${BENCH_HOLD:-60} + 120)) "${builddir:?}/tests/bench/stream_hold" memory "$2" 8 "${BENCH_HOLD:-60}" >one.json ||
		bail "stream_hold $2 failed"
	jq -e '.missing == 0' one.json >/dev/null || bail "of $(jq .samples one.json) samples $(jq .missing one.json) are missing"
	jq -e '.rank <= .rank_bound and .member <= .member_bound' one.json >/dev/null || bail "more is held than may be: $(cat one.json)"
	figure "stream-memory-$1-rank" "$(jq .rank one.json)" MiB "its bound" "$(jq .rank_bound one.json)"
	figure "stream-memory-$1-rank-growth" "$(jq .rank_growth one.json)" MiB
	figure "stream-memory-$1-member" "$(jq .member one.json)" MiB "its bound" "$(jq .member_bound one.json)"
	figure "stream-memory-$1-member-growth" "$(jq .member_growth one.json)" MiB
}

hold 4mb 4000000
hold 4kb 4096
bench_done
