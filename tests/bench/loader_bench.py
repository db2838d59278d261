"""loader_bench.py SAMPLES: a PyTorch loop with a model that does nothing, as the rank of stream_bench.

Prints the rate at which samples went into batches between half and nine tenths of reception.
"""

import json
import sys
import time

import torch.utils.data

import stretto.torch
import stretto.train


def main():
    samples = int(sys.argv[-1])
    begin = end = None
    with stretto.train.open() as rx:
        loader = torch.utils.data.DataLoader(stretto.torch.StreamDataset(rx), batch_size=None)
        for batch in loader:
            del batch
            received = rx.stats()["received"]
            if begin is None and received >= samples // 2:
                begin, drawn = time.monotonic(), 0
            elif begin is not None and end is None:
                drawn += rx.batch_size
                if received >= samples * 9 // 10:
                    end = time.monotonic()
                    print(json.dumps({"samples_per_second": drawn / (end - begin)}), flush=True)
            if received >= samples:
                break


main()
