"""A rank of a distributed PyTorch program, as its users write them: it knows nothing of stretto. Rank 0 writes down whom it met."""
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([float(os.environ["RANK"]) + 1])
dist.all_reduce(total)
if dist.get_rank() == 0:
    print(f"{dist.get_world_size()} ranks, sum {total.item():g}, {os.environ['MASTER_ADDR']}", flush=True)
dist.destroy_process_group()
