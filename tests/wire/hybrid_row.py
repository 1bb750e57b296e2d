"""Batches as .NET sends them: HybridRow, written and read by its published grammar.

It knows nothing of how the server does it: the layouts are put together from the schemas below as the
format's documents say, with the checksum of the standard library.
"""

import json
import struct
import zlib

# Column by column: name, kind, storage. Those that may be absent have a bit, but for the sparse ones.
SCHEMAS = {
    "segment": (2147473648, [("length", "int32", "fixed"), ("comment", "utf8", "sparse"), ("sdl", "utf8", "sparse")]),
    "record": (2147473649, [("length", "int32", "required"), ("crc32", "uint32", "required")]),
    "operation": (2145473648, [
        ("operationType", "int32", "fixed"), ("resourceType", "int32", "fixed"),
        ("partitionKey", "utf8", "variable"), ("effectivePartitionKey", "binary", "variable"),
        ("id", "utf8", "variable"), ("binaryId", "binary", "variable"), ("resourceBody", "binary", "variable"),
        ("indexingDirective", "utf8", "sparse"), ("ifMatch", "utf8", "sparse"), ("ifNoneMatch", "utf8", "sparse"),
        ("timeToLiveInSeconds", "int32", "sparse"), ("minimalReturnPreference", "bool", "sparse"),
    ]),
    "result": (2145473649, [
        ("statusCode", "int32", "fixed"), ("subStatusCode", "int32", "fixed"),
        ("eTag", "utf8", "variable"), ("resourceBody", "binary", "variable"),
        ("retryAfterMilliseconds", "uint32", "sparse"), ("requestCharge", "float64", "sparse"),
    ]),
}  # fmt: skip
CODES = {"int32": 7, "uint32": 11, "float64": 16, "utf8": 20, "binary": 21}
FORMATS = {"int32": "<i", "uint32": "<I", "float64": "<d"}
OPERATIONS = {"Create": 0, "Patch": 1, "Read": 2, "Delete": 4, "Replace": 5, "Upsert": 20}


def varuint(number):
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varuint(rest) if rest else bytes([low])


def value(kind, content):
    if kind in FORMATS:
        return struct.pack(FORMATS[kind], content)
    content = content.encode() if isinstance(content, str) else content
    return varuint(len(content)) + content


def row(schema, cells):
    """A row. The sparse columns come in the order of `cells`."""
    number, columns = SCHEMAS[schema]
    assert set(cells) <= {name for name, _, _ in columns}, cells
    bits = [name in cells for name, _, storage in columns if storage in ("fixed", "variable")]
    mask = sum(1 << at for at, bit in enumerate(bits) if bit)
    out = b"\x81" + struct.pack("<I", number) + mask.to_bytes((len(bits) + 7) // 8, "little")
    for name, kind, storage in columns:
        if storage in ("fixed", "required"):
            out += value(kind, cells.get(name, 0))
        elif storage == "variable" and name in cells:
            out += value(kind, cells[name])
    tokens = {name: (at, kind) for at, (name, kind, storage) in enumerate(columns, 1) if storage == "sparse"}
    for name, content in cells.items():
        if name in tokens:
            at, kind = tokens[name]
            if kind == "bool":
                out += bytes([3 if content else 2]) + varuint(at)
            else:
                out += bytes([CODES[kind]]) + varuint(at) + value(kind, content)
    return out


def record(body):
    return row("record", {"length": len(body), "crc32": zlib.crc32(body)}) + body


def stream(rows):
    return row("segment", {"length": 10}) + b"".join(record(body) for body in rows)


def operation(members):
    """The row of an operation that is written as for JSON."""
    cells = {"operationType": OPERATIONS[members["operationType"]], "resourceType": 2}
    body = members.get("resourceBody")
    if body is not None:
        cells["resourceBody"] = body if isinstance(body, bytes) else json.dumps(body).encode()
    more = {name: members[name] for name in members if name not in ("operationType", "resourceBody")}
    return row("operation", cells | more)


def batch(operations):
    return stream([operation(members) for members in operations])


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        assert self.at + count <= len(self.data), "the bytes end too early"
        self.at += count
        return self.data[self.at - count : self.at]

    def varuint(self):
        byte = self.take(1)[0]
        return byte if byte < 0x80 else (byte & 0x7F) | self.varuint() << 7

    def value(self, kind):
        if kind in FORMATS:
            return struct.unpack(FORMATS[kind], self.take(struct.calcsize(FORMATS[kind])))[0]
        content = self.take(self.varuint())
        return content.decode() if kind == "utf8" else content

    def schematized(self, schema):
        number, columns = SCHEMAS[schema]
        assert self.take(5) == b"\x81" + struct.pack("<I", number)
        bits = [name for name, _, storage in columns if storage in ("fixed", "variable")]
        mask = int.from_bytes(self.take((len(bits) + 7) // 8), "little")
        there = {name for at, name in enumerate(bits) if mask >> at & 1}
        cells = {}
        for name, kind, storage in columns:
            if storage in ("fixed", "required"):
                content = self.value(kind)
                if storage == "required" or name in there:
                    cells[name] = content
            elif storage == "variable" and name in there:
                cells[name] = self.value(kind)
        return cells

    def row(self, schema):
        cells = self.schematized(schema)
        columns = SCHEMAS[schema][1]
        while self.at < len(self.data):
            code = self.take(1)[0]
            name, kind, storage = columns[self.varuint() - 1]
            assert storage == "sparse" and name not in cells, name
            assert code == CODES[kind], name
            cells[name] = self.value(kind)
        return cells


def results(body):
    """The results of a batch, with their documents parsed, as an answer in JSON has them."""
    reader = Reader(body)
    assert reader.schematized("segment") == {"length": 10}
    found = []
    while reader.at < len(body):
        header = reader.schematized("record")
        content = reader.take(header["length"])
        assert zlib.crc32(content) == header["crc32"]
        cells = Reader(content).row("result")
        if "resourceBody" in cells:
            cells["resourceBody"] = json.loads(cells["resourceBody"])
        found.append(cells)
    return found
