#!/usr/bin/env bash
# Captured output: whole, in ranges, of every attempt, large, and replaced by something else.
TEST_LIMIT=180
. "${srcdir:-.}/tests/t/lib.sh"

start_daemon
cat >"$T/spec.json" <<'X'
{"name": "out", "members": {"command": ["sh", "-c",
   "echo attempt $STRETTO_ATTEMPT; case {i} in 1) seq 400000; printf 'raw \\377\\376';; 2) [ $STRETTO_ATTEMPT = 2 ];; 3) :;; esac; echo oops {i} >&2"],
 "parameters": {"grid": {"i": [0, 1, 2, 3]}}, "retries": 2}, "width": 4}
X
# the exit status of the second attempt decides
sed -i "s/\[ \$STRETTO_ATTEMPT = 2 \];;/[ \$STRETTO_ATTEMPT = 2 ] || exit 3;;/" "$T/spec.json"
id=$(submit "$T/spec.json")
ok "it ends" wait_ensemble "$id" 90
dir=$(jq -r .dir "$T/ensemble.json")/members/0
base=http://stretto/v1/ensembles/$id/members

# get PATH ARGUMENT...: body in $T/body, headers in $T/head, status to stdout
get() { local path=$1; shift; curl -s -m 300 --unix-socket "$SOCKET" -D "$T/head" -o "$T/body" -w '%{http_code}' "$@" "$base/$path"; }
head_of() { tr -d '\r' <"$T/head" | sed -n "s/^$1: //Ip"; }

is "$(get 0/stdout) $(head_of content-type) $(head_of accept-ranges) $(cat "$T/body")" "200 text/plain bytes attempt 1" "stdout"
is "$(get 0/stderr) $(cat "$T/body")" "200 oops 0" "stderr"
is "$(get 1/stdout)" 200 "large output"
ok "byte for byte" cmp "$T/body" "$dir/1/a1/stdout"
ok "and it is larger than a piece" test "$(wc -c <"$T/body")" -gt 2000000
is "$(get 2/stdout) $(cat "$T/body")" "200 attempt 2" "the latest attempt by default"
is "$(get '2/stdout?attempt=1') $(cat "$T/body")" "200 attempt 1" "the first on request"
for attempt in 3 99999999999; do
	is "$(get "2/stdout?attempt=$attempt") $(jq -r .code "$T/body")" "404 output_not_found" "attempt $attempt has not been"
done
is "$(get '2/stdout?attempt=0') $(jq -r .code "$T/body")" "400 query_wrong_value" "there is no attempt 0"

# range TEXT FIRST END: of the file $file, which is the output of $member
range() {
	local size
	size=$(wc -c <"$file")
	is "$(get "$member/stdout" -H "Range: $1") $(head_of content-range) $(md5sum <"$T/body")" \
		"206 bytes $2-$(($3 - 1))/$size $(tail -c +$(($2 + 1)) "$file" | head -c $(($3 - $2)) | md5sum)" "range $1 of $size bytes"
}
member=2 file=$dir/2/a2/stdout
is "$(wc -c <"$file")" 10 "a file of 10 bytes"
range bytes=0-8 0 9
range bytes=0-9 0 10
range bytes=0-10 0 10
range bytes=0-11 0 10
range bytes=9-9 9 10
range bytes=9-10 9 10
range bytes=9- 9 10
range bytes=-1 9 10
range bytes=-9 1 10
range bytes=-10 0 10
range bytes=-11 0 10
for text in bytes=10- bytes=10-10 bytes=-0; do
	is "$(get 2/stdout -H "Range: $text") $(head_of content-range)" "416 bytes */10" "range $text of 10 bytes"
done
member=1 file=$dir/1/a1/stdout
size=$(wc -c <"$file")
range bytes=0-0 0 1
range bytes=10-19 10 20
range bytes=262143-262144 262143 262145
range bytes=1000- 1000 "$size"
range bytes=-7 $((size - 7)) "$size"
range "bytes=$((size - 1))-" $((size - 1)) "$size"
range "bytes=5-$((size * 9))" 5 "$size"
is "$(get 1/stdout -H "Range: bytes=$size-") $(head_of content-range) $(jq -r .code "$T/body")" \
	"416 bytes */$size range_not_satisfiable" "a range beyond the end"
is "$(get 1/stdout -H 'Range: bytes=9-2') $(wc -c <"$T/body")" "200 $size" "a range that makes no sense is everything"
is "$(get 1/stdout -H 'Range: bytes=0-3' -H 'If-Range: "x"') $(wc -c <"$T/body")" "200 $size" \
	"a range that depends on a former reply is everything"
is "$(curl -s -I -m 300 --unix-socket "$SOCKET" -o /dev/null -w '%{http_code} %{size_download}' "$base/1/stdout")" "200 0" "HEAD"

: >"$dir/3/a1/stdout"
is "$(get 3/stdout) $(wc -c <"$T/body")" "200 0" "an empty file"
is "$(get 3/stdout -H 'Range: bytes=0-')" 416 "has no ranges"

# Files of 1 GiB pass through; the daemon does not grow with them.
peak() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$DAEMON_PID/status"; }
before=$(peak)
truncate -s 1G "$dir/3/a1/stdout"
is "$(curl -s -m 600 --unix-socket "$SOCKET" -o /dev/null -w '%{http_code} %{size_download}' "$base/3/stdout")" \
	"200 1073741824" "1 GiB"
ok "in bounded memory ($before to $(peak) kB)" test $(($(peak) - before)) -lt 100000

# A client that reads slowly, or goes away, keeps nobody waiting.
curl -s -m 60 --limit-rate 50k --unix-socket "$SOCKET" -o /dev/null "$base/3/stdout" &
slow=$!
is "$(get 0/stdout)" 200 "others are answered while one reads slowly"
kill $slow
wait $slow 2>/dev/null
is "$(get 0/stdout)" 200 "and after it has gone"
# The file becomes shorter while it is sent: the connection ends, the daemon goes on.
curl -s -m 60 --limit-rate 20M --unix-socket "$SOCKET" -o "$T/cut" "$base/3/stdout" &
slow=$!
wait_for 20 'test -s "$T/cut"'
: >"$dir/3/a1/stdout"
rc=0
wait $slow || rc=$?
is "$((rc != 0)) $(get 0/stdout)" "1 200" "a file that is cut short ends its reply as broken"

# The directory belongs to the member: what looks like output may be anything.
unreadable() { is "$(get 0/stdout) $(jq -r .code "$T/body")" "500 output_unreadable" "$1"; }
rm "$dir/0/a1/stdout"
is "$(get 0/stdout) $(jq -r .code "$T/body")" "404 output_not_found" "output that is not there"
mkfifo "$dir/0/a1/stdout"
unreadable "a FIFO instead of a file"
rm "$dir/0/a1/stdout"
ln -s /etc/passwd "$dir/0/a1/stdout"
unreadable "a link instead of a file"
rm "$dir/0/a1/stdout"
mkdir "$dir/0/a1/stdout"
unreadable "a directory instead of a file"

done_testing
