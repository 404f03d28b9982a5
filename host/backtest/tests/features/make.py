"""Writes the tables of this folder from wallets.jsonl, each as a data scientist would: pip install pyarrow polars pandas, then run it here."""

import json

import pandas
import polars
import pyarrow
import pyarrow.parquet

rows = [json.loads(line) for line in open("wallets.jsonl")]
# Row groups of two rows, so that wallets stand on both sides of a border.
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "pyarrow.parquet", row_group_size=2)
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "pages.parquet", data_page_version="2.0", data_page_size=64, compression="zstd")
polars.read_ndjson("wallets.jsonl", infer_schema_length=None).write_parquet("polars.parquet")
pandas.DataFrame(rows).to_parquet("pandas.parquet", index=False)
polars.DataFrame({"as_of": [1, 2], "chains": [[], []], "identity": [[], None]}).write_parquet("empty.parquet")
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "gzip.parquet", compression="gzip")
polars.DataFrame({"as_of": [1, 2], "assets": [1.0, 2.0]}).write_parquet("unknown.parquet")
polars.DataFrame({"as_of": [1, 2], "chains": [[1], [2]]}).write_parquet("flat.parquet")
polars.DataFrame({"as_of": [1, 2]}).with_columns(polars.col("as_of").cast(polars.Datetime("ms"))).write_parquet("times.parquet")
chain = {"chain_id": 1, "coverage": "complete", "transactions": 3, "assets_usd": 1.0, "supplied_usd": 0.0, "borrowed_usd": 0.0}
bad = [
    {"as_of": 5, "chains": [chain]},
    {"as_of": 5, "chains": [chain, chain | {"coverage": "whole"}]},
    {"as_of": -5, "chains": []},
    {"as_of": None, "chains": []},
    {"as_of": 5, "chains": [chain | {"assets_usd": float("nan")}]},
    {"as_of": 5, "chains": [None]},
    {"as_of": 5, "chains": None},
]
pyarrow.parquet.write_table(pyarrow.Table.from_pylist(bad), "bad.parquet")
