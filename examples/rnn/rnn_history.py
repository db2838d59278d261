"""The history of a training: one record for each epoch. It is kept in the checkpoint, so that the two always agree."""

import csv
import io
import os


class History:
    """Add an epoch; they come from 1, without gap or repeat. `attempt`, such as "9.1", names ensemble and attempt."""

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
        """Return the seconds that the longest epoch took; 0 before the first."""
        return max((record["seconds"] for record in self.records), default=0.0)

    def area(self):
        """Return the area under the curve of held-out losses over the epochs, by the trapezoidal rule.

        It is small for a curve that falls soon and stays low, and NaN where a loss is.
        """
        losses = [record["validation_loss"] for record in self.records]
        return sum((a + b) / 2 for a, b in zip(losses, losses[1:]))

    def text(self):
        """Return the history as CSV."""
        out = io.StringIO()
        writer = csv.DictWriter(out, self.FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records)
        return out.getvalue()


def write_whole(path, data):
    """Write bytes into a file that is there as a whole, or not at all."""
    with open(path + ".part", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
