"""Writes Parquet, Feather and Arrow files. Run by a Python that has pyarrow; see arrow_files.py.

Standard input: {"columns": [[name, type, values]...], "files": {name: options}}. A type is a name of pyarrow's,
"decimal", "dictionary", "list", or "struct", whose values are objects of numbers."""

import datetime
import decimal
import json
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet


def array_of(kind, values):
    if kind == "dictionary":
        return pa.array(values, pa.string()).dictionary_encode()
    if kind == "decimal":
        return pa.array([None if v is None else decimal.Decimal(str(v)) for v in values], pa.decimal128(12, 4))
    if kind == "list":
        return pa.array(values, pa.list_(pa.float64()))
    if kind == "struct":
        return pa.array(values)
    if kind.startswith("date"):
        days = [None if v is None else datetime.date.fromisoformat(v) for v in values]
        return pa.array(days, getattr(pa, kind)())
    if kind.startswith("timestamp"):
        times = [None if v is None else datetime.datetime.fromisoformat(v) for v in values]
        return pa.array(times, pa.timestamp(kind.removeprefix("timestamp_")))
    if kind == "float16":
        import struct
        halves = [None if v is None else struct.unpack("<e", struct.pack("<e", v))[0] for v in values]
        return pa.array(halves, pa.float32()).cast(pa.float16())
    return pa.array(values, getattr(pa, kind)())


def write(table, name, options):
    rows = options.get("rows", 100)  # of a group
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, name, row_group_size=rows, compression=options.get("compression", "snappy"))
    elif name.endswith(".feather"):
        pa.feather.write_feather(table, name, chunksize=rows, compression=options.get("compression", "lz4"))
    else:
        make = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
        with make(name, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)


told = json.load(sys.stdin)
names = [name for name, _, _ in told["columns"]]
whole = pa.Table.from_arrays([array_of(kind, values) for _, kind, values in told["columns"]], names=names)
for path, how in told["files"].items():
    begin, end = how.get("part", (0, whole.num_rows))
    write(whole.slice(begin, end - begin), path, how)
