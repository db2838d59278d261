"""Writes TensorBoard's event files, as its documentation has them: TFRecords of events in protobuf's encoding. PyTorch's
torch.utils.tensorboard writes the same, with a package that Debian does not have."""
import os
import struct
import time

TABLE = []
for index in range(256):
    for _ in range(8):
        index = index >> 1 ^ (0x82F63B78 if index & 1 else 0)
    TABLE.append(index)


def checksum(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(value):
    value &= (1 << 64) - 1
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data + bytes([value]))


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class SummaryWriter:
    count = 0

    def __init__(self, log_dir):
        os.makedirs(log_dir, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns():020d}.host.{os.getpid()}.{SummaryWriter.count}"
        SummaryWriter.count += 1
        self.file = open(os.path.join(log_dir, name), "xb", buffering=0)
        self.record(message(3, b"brain.Event:2"))

    def record(self, event):
        event = struct.pack("<Bd", 1 << 3 | 1, time.time()) + event
        length = struct.pack("<Q", len(event))
        self.file.write(length + checksum(length) + event + checksum(event))

    def add_scalar(self, tag, value, step, new_style=False):
        if new_style:
            metadata = message(9, message(1, message(1, b"scalars")))
            number = message(8, varint(1 << 3) + varint(1) + message(5, struct.pack("<f", value))) + metadata
        else:
            number = struct.pack("<Bf", 2 << 3 | 5, value)
        self.record(varint(2 << 3) + varint(step) + message(5, message(1, message(1, tag.encode()) + number)))

    def add_text(self, tag, text, step):
        tensor = message(8, varint(1 << 3) + varint(7) + message(8, text.encode()))
        metadata = message(9, message(1, message(1, b"text")))
        self.record(varint(2 << 3) + varint(step) + message(5, message(1, message(1, tag.encode()) + metadata + tensor)))
