# The training side's buffer alone, a reservoir of 512 MiB or 6,000 samples: one thread puts, one draws batches of ten
# and copies them out.
#
#   buffer-4mb       drawn and copied out, against memcpy() alone from as many places into the same batch
#   buffer-4kb-put, buffer-4kb-draw   samples a second, at the same time
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

make -s -C "${builddir:?}" tests/bench/buffer_bench || bail "cannot build tests/bench/buffer_bench"
bench=${builddir:?}/tests/bench/buffer_bench

for ((round = 0; round < BENCH_ROUNDS; round++)); do
	"$bench" pool 4000000 1 | jq .gigabytes_per_second >>large
	"$bench" memcpy 4000000 1 | jq .gigabytes_per_second >>memcpy.rates
	"$bench" pool 4096 1 >small.json
	jq .put_per_second small.json >>put
	jq .drawn_per_second small.json >>draw
done
figure buffer-4mb "$(median <large)" GB/s "memcpy" "$(median <memcpy.rates)"
figure buffer-4kb-put "$(median <put)" samples/s
figure buffer-4kb-draw "$(median <draw)" samples/s
bench_done
