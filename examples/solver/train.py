"""Takes the place of a training: looks at every batch, and reports a figure of it."""

import stretto.train


def main():
    with stretto.train.open() as rx:
        for number, batch in enumerate(rx.batches()):
            # batch.params: (B, 1) d; batch.member, batch.step: (B,)
            # batch.fields["temperature"]: (B, 24, 32); batch.fields["profile"]: (B, 32)
            rx.metric("mean_temperature", number, batch.fields["temperature"].mean())
        rx.done()


main()
