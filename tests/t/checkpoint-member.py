"""checkpoint-member.py STEPS SECONDS: counts to STEPS, SECONDS a step, and leaves its count as a checkpoint by way of the
library when there is no time for two steps more."""

import os
import sys
import time

import stretto


def main():
    steps, seconds = int(sys.argv[1]), float(sys.argv[2])
    with stretto.open() as member:
        count = 0
        if member.resume:
            with open(member.resume) as file:
                count = int(file.read())
        while count < steps:
            if count > 0 and member.checkpoint_due(2 * seconds):
                path = os.path.join(member.checkpoint_dir, "count-%d" % count)
                with open(path, "w") as file:
                    file.write("%d\n" % count)
                try:
                    member.checkpointed("/nowhere/at/all", count)
                    sys.exit(6)
                except stretto.StreamError:
                    pass
                member.checkpointed(path, count)
                return
            time.sleep(seconds)
            count += 1
        with open("result", "w") as file:
            file.write("%d\n" % count)
        if member.checkpoint_dir is None:
            member.checkpointed("result", count)


main()
