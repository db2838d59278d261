"""The history of a training: one record an epoch, kept within the checkpoint, so that the two can never disagree."""

import csv
import io
import os


class History:
    """Epochs from 1, without gap or repeat. `attempt` is the one that computed it, with its ensemble: "9.1"."""

    FIELDS = ("epoch", "train_loss", "validation_loss", "seconds", "attempt")

    def __init__(self, records=()):
        self.records = []
        for record in records:
            self.add(**record)

    def __len__(self):
        return len(self.records)

    def add(self, **record):
        if tuple(sorted(record)) != tuple(sorted(self.FIELDS)):
            raise ValueError(f"a record has {', '.join(self.FIELDS)}, not {', '.join(record)}")
        if record["epoch"] != len(self.records) + 1:
            raise ValueError(f"epoch {record['epoch']} does not follow epoch {len(self.records)}")
        self.records.append(record)

    def longest(self):
        """Seconds that the longest epoch took; 0 before the first."""
        return max((record["seconds"] for record in self.records), default=0.0)

    def area(self):
        """Under the curve of held-out losses over the epochs, by the trapezoidal rule: small for one that falls soon and
        stays low. NaN where a loss is."""
        losses = [record["validation_loss"] for record in self.records]
        return sum((a + b) / 2 for a, b in zip(losses, losses[1:]))

    def text(self):
        """As CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, self.FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records)
        return out.getvalue()


def write_whole(path, data):
    """Bytes into a file that is there whole, or not at all."""
    with open(path + ".part", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
