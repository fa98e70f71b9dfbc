"""Nodes and edges as a graph of PyTorch Geometric."""

from __future__ import annotations

import os
from typing import Any, Optional, Union

_ENDS = {"OWNS": ("CUSTOMER", "ACCOUNT"), "USES": ("CUSTOMER", "DEVICE"), "SENDS": ("ACCOUNT", "ACCOUNT"),
         "PAYS": ("ACCOUNT", "MERCHANT")}
_EDGE_COLUMNS = ["source", "target", "kind", "at", "amount", "payment_type", "is_fraud"]


def _read(folder: Union[str, "os.PathLike[str]"], table: str, columns: list[str]) -> Any:
    import pyarrow.dataset  # type: ignore[import-untyped]  # pylint: disable=import-outside-toplevel
    place = os.path.join(folder, table)
    if not os.path.isdir(place):
        raise FileNotFoundError(f"{place} is missing; generate the data with graph (`--graph`)")
    for ending, form in (("parquet", "parquet"), ("arrow", "ipc")):
        if any(name.endswith("." + ending) for _, _, names in os.walk(place) for name in names):
            return pyarrow.dataset.dataset(place, format=form, partitioning="hive").to_table(columns)
    raise ValueError(f"{place} has neither Parquet nor Arrow files; generate the data with --format parquet or arrow")


def to_torch_geometric(nodes: Any, edges: Optional[Any] = None) -> Any:
    """Returns a graph as torch_geometric.data.HeteroData.

    `nodes` is the folder of a data set with `--graph`, in Parquet or Arrow files; or a reader or table of its nodes,
    with `edges` one of its edges. Types of nodes are customer, account, device and merchant, those of edges owns, uses,
    sends and pays. Each type of nodes has `num_nodes` and `node_id`, an array of texts by which attributes can be
    joined. All edges have `time`, in seconds since 1970 of local time; those of payments `amount`, `payment_type` (an
    index in `graph.payment_types`) and the label `y` (1: fraud). Raises ValueError if an edge has an unknown end.

    >>> graph = fraudgen.to_torch_geometric("data")  # doctest: +SKIP
    """
    try:
        import numpy  # pylint: disable=import-outside-toplevel
        import pyarrow  # pylint: disable=import-outside-toplevel
        import pyarrow.compute as compute  # type: ignore[import-untyped]  # pylint: disable=import-outside-toplevel
        import torch  # type: ignore[import-not-found]  # pylint: disable=import-outside-toplevel
        from torch_geometric.data import (  # type: ignore[import-not-found]  # pylint: disable=import-outside-toplevel
            HeteroData)
    except ImportError as error:
        raise ImportError(f"to_torch_geometric needs PyTorch and PyTorch Geometric ({error}): pip install "
                          "'fraudgen[torch]'") from error
    if edges is None:
        nodes, edges = _read(nodes, "nodes", ["node_id", "kind"]), _read(nodes, "edges", _EDGE_COLUMNS)
    nodes, edges = (each.read_all() if hasattr(each, "read_all") else each for each in (nodes, edges))

    def tensor(column: Any, of: Any) -> Any:
        return torch.from_numpy(numpy.array(column.cast(of), copy=True))

    graph = HeteroData()
    identifiers = {}
    kinds = nodes["kind"].cast(pyarrow.string())
    for kind in sorted({end for ends in _ENDS.values() for end in ends}):
        # A node occurs in each block that pays it.
        of_kind = nodes["node_id"].cast(pyarrow.string()).filter(compute.equal(kinds, kind)).unique()
        identifiers[kind] = of_kind
        graph[kind.lower()].num_nodes = len(of_kind)
        graph[kind.lower()].node_id = of_kind.to_numpy(zero_copy_only=False)
    payment_types = edges["payment_type"].cast(pyarrow.string()).drop_null().unique().sort()
    graph.payment_types = payment_types.to_pylist()
    kinds = edges["kind"].cast(pyarrow.string())
    for kind, (source, target) in _ENDS.items():
        of_kind = edges.filter(compute.equal(kinds, kind))
        ends = []
        for column, end in (("source", source), ("target", target)):
            numbers = compute.index_in(of_kind[column].cast(pyarrow.string()), value_set=identifiers[end])
            if numbers.null_count:
                raise ValueError(f"{numbers.null_count} edges of kind {kind} have a {column} that is not among the "
                                 "nodes: pass the nodes and edges of the same rows, and of all of them")
            ends.append(tensor(numbers, pyarrow.int64()))
        edge = graph[source.lower(), kind.lower(), target.lower()]
        edge.edge_index = torch.stack(ends)
        edge.time = tensor(of_kind["at"].cast(pyarrow.timestamp("s"), safe=False), pyarrow.int64())
        if kind in ("SENDS", "PAYS"):
            edge.amount = tensor(of_kind["amount"], pyarrow.float64())
            numbers = compute.index_in(of_kind["payment_type"].cast(pyarrow.string()), value_set=payment_types)
            edge.payment_type = tensor(numbers, pyarrow.int64())
            edge.y = tensor(of_kind["is_fraud"].cast(pyarrow.int8()), pyarrow.int64())
    return graph
