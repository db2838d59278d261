# How fast members' samples get into batches, sender processes to a receiver process on this machine, against raw libzmq
# (PUSH to PULL, one message a sample) that makes the same two copies, into a recycled send buffer and out into a batch;
# stream_bench.c says what it does in detail:
#
#   stream-4mb-shm                                                   as on one host: large payloads in shared memory, where
#                                                                    the baseline uses ipc
#   stream-4mb-ipc, stream-4mb-tcp, stream-4kb-ipc, stream-4kb-tcp   one sender
#   stream-4mb-shm-8, stream-4mb-ipc-8, stream-4kb-ipc-8             eight senders
#   stream-4mb-tcp-curve, stream-4kb-tcp-curve                       as between hosts, against the same without encryption
#   …-nocopy       the same figure against raw libzmq without any copy
#   …-receive-cpu  CPU time of the receiving process a sample, all its threads
#   …-than-socket, …-receive-cpu-than-socket, …-cpu-than-socket   shared memory against stretto itself without it
#   …-cpu          the same, with the senders': what counts where the cores are shared
# shellcheck shell=bash
# shellcheck source=/dev/null
. "${srcdir:-.}/tests/bench/lib.sh"

make -s -C "${builddir:?}" tests/bench/stream_bench || bail "cannot build tests/bench/stream_bench"

measure() { # NAME TRANSPORT BYTES SENDERS SAMPLES KEY UNIT
	local name=$1 transport=$2 bytes=$3 senders=$4 samples=$5 key=$6 unit=$7 round what
	for ((round = 0; round < BENCH_ROUNDS; round++)); do
		for what in stretto copies raw; do
			timeout 120 "${builddir:?}/tests/bench/stream_bench" $what "$transport" "$bytes" "$senders" "$samples" \
				>one.json || bail "stream_bench $what $transport $bytes $senders failed"
			jq -r ".$key" one.json >>"$name.$what"
			jq -r .receiver_cpu_ms one.json >>"$name.$what.receiver"
			jq -r '.receiver_cpu_ms + .sender_cpu_ms' one.json >>"$name.$what.cpu"
		done
	done
	figure "$name" "$(median <"$name.stretto")" "$unit" "libzmq, the same two copies" "$(median <"$name.copies")"
	figure "$name-nocopy" "$(median <"$name.stretto")" "$unit" "libzmq, no copy" "$(median <"$name.raw")"
	figure "$name-receive-cpu" "$(median <"$name.stretto.receiver")" ms/sample "libzmq, the same two copies" \
		"$(median <"$name.copies.receiver")"
	figure "$name-cpu" "$(median <"$name.stretto.cpu")" ms/sample "libzmq, the same two copies" \
		"$(median <"$name.copies.cpu")"
}

shared() { # NAME BYTES SENDERS SAMPLES
	local name=$1 round transport
	for ((round = 0; round < BENCH_ROUNDS; round++)); do
		for transport in memory ipc; do
			timeout 120 "${builddir:?}/tests/bench/stream_bench" stretto $transport "$2" "$3" "$4" >one.json ||
				bail "stream_bench stretto $transport $2 failed"
			jq -r .gigabytes_per_second one.json >>"$name.$transport"
			jq -r .receiver_cpu_ms one.json >>"$name.$transport.receiver"
			jq -r '.receiver_cpu_ms + .sender_cpu_ms' one.json >>"$name.$transport.cpu"
		done
	done
	figure "$name-than-socket" "$(median <"$name.memory")" GB/s "the socket alone" "$(median <"$name.ipc")"
	figure "$name-receive-cpu-than-socket" "$(median <"$name.memory.receiver")" ms/sample "the socket alone" \
		"$(median <"$name.ipc.receiver")"
	figure "$name-cpu-than-socket" "$(median <"$name.memory.cpu")" ms/sample "the socket alone" "$(median <"$name.ipc.cpu")"
}

encrypted() { # NAME BYTES SAMPLES KEY UNIT
	local name=$1 bytes=$2 samples=$3 key=$4 unit=$5 round transport
	for ((round = 0; round < BENCH_ROUNDS; round++)); do
		for transport in curve tcp; do
			timeout 120 "${builddir:?}/tests/bench/stream_bench" stretto $transport "$bytes" 1 "$samples" >one.json ||
				bail "stream_bench stretto $transport $bytes failed"
			jq -r ".$key" one.json >>"$name.$transport"
			jq -r '.receiver_cpu_ms + .sender_cpu_ms' one.json >>"$name.$transport.cpu"
		done
	done
	figure "$name" "$(median <"$name.curve")" "$unit" "not encrypted" "$(median <"$name.tcp")"
	figure "$name-cpu" "$(median <"$name.curve.cpu")" ms/sample "not encrypted" "$(median <"$name.tcp.cpu")"
}

measure stream-4mb-shm memory 4000000 1 1000 gigabytes_per_second GB/s
measure stream-4mb-shm-8 memory 4000000 8 1600 gigabytes_per_second GB/s
shared stream-4mb-shm 4000000 1 1000
shared stream-64kb-shm 65536 1 40000
measure stream-4mb-ipc ipc 4000000 1 1000 gigabytes_per_second GB/s
measure stream-4mb-tcp tcp 4000000 1 1000 gigabytes_per_second GB/s
measure stream-4mb-ipc-8 ipc 4000000 8 1600 gigabytes_per_second GB/s
measure stream-4kb-ipc ipc 4096 1 400000 samples_per_second samples/s
measure stream-4kb-tcp tcp 4096 1 400000 samples_per_second samples/s
measure stream-4kb-ipc-8 ipc 4096 8 400000 samples_per_second samples/s
encrypted stream-4mb-tcp-curve 4000000 400 gigabytes_per_second GB/s
encrypted stream-4kb-tcp-curve 4096 200000 samples_per_second samples/s
bench_done
