"""Finds rings of mules and chains of stolen money by graph structure alone.

  fraudgen --rows 400000 --graph --format parquet --output data
  python graph.py data

Only then are the labels looked at, to say how much of what was found is true.
"""

import collections
import sys

import duckdb

MINUTES = 30  # a mule forwards money within this time
KEPT = 0.15  # and keeps at most this share


def components(pairs: list[tuple[str, str]]) -> list[set[str]]:
    """Connected components by union-find."""
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for one, other in pairs:
        parent[root(one)] = root(other)
    groups = collections.defaultdict(set)
    for node in parent:
        groups[root(node)].add(node)
    return list(groups.values())


def rings(data: duckdb.DuckDBPyConnection) -> None:
    """Finds customers connected by devices with at least three users: mules, or the victims of
    of the same thief."""
    used = data.execute("""
        SELECT source, target FROM edges WHERE kind = 'USES'
        AND target IN (SELECT target FROM edges WHERE kind = 'USES'
                       GROUP BY target HAVING count(DISTINCT source) >= 3)""").fetchall()
    mules = {customer for (customer,) in data.execute(
        "SELECT customer_id FROM rings WHERE pattern = 'SHARED_DEVICE'").fetchall()}
    robbed = {customer for (customer,) in data.execute("""
        SELECT owns.source FROM edges AS owns JOIN edges AS pays ON pays.source = owns.target
        WHERE owns.kind = 'OWNS' AND pays.is_fraud""").fetchall()}
    found = [{node for node in group if node.startswith("CUST_")} for group in components(used)]
    members = set().union(*found)
    print(f"rings: {len(found)} with {len(members)} customers: {len(members & mules)} mules, of "
          f"{len(mules)} in all, and {len(members & robbed - mules)} who were robbed")
    for ring in sorted(found, key=len, reverse=True)[:3]:
        print(f"  {len(ring)} customers: {', '.join(sorted(ring)[:3])}, ...")


def chains(data: duckdb.DuckDBPyConnection) -> None:
    """Finds payments whose receiver soon sends almost the same amount to another account."""
    hops = data.execute(f"""
        SELECT first.transaction_id, next.transaction_id,
               first.fraud_ring IS NOT NULL AND first.fraud_ring = next.fraud_ring
        FROM edges AS first JOIN edges AS next ON next.source = first.target
        AND next.at BETWEEN first.at AND first.at + INTERVAL {MINUTES} MINUTE
        AND next.amount BETWEEN first.amount * (1 - {KEPT}) AND first.amount
        WHERE first.kind = 'SENDS' AND next.kind = 'SENDS' AND first.amount > 100""").fetchall()
    true = sum(same for _, _, same in hops)
    print(f"chains: money moves on {len(hops)} times, {true} of them in a true chain")
    found = components([(one, other) for one, other, _ in hops])
    lengths = collections.Counter(len(chain) for chain in found)
    for length, count in sorted(lengths.items()):
        print(f"  {count} of {length} payments")


def main(folder: str) -> None:
    data = duckdb.connect()
    for table in ("nodes", "edges", "rings"):
        data.execute(f"CREATE VIEW {table} AS FROM '{folder}/{table}/*.parquet'")
    for kind, count in data.execute(
            "SELECT kind, count(DISTINCT node_id) FROM nodes GROUP BY kind ORDER BY kind").fetchall():
        print(f"{count} nodes {kind}")
    for kind, count in data.execute(
            "SELECT kind, count(*) FROM edges GROUP BY kind ORDER BY kind").fetchall():
        print(f"{count} edges {kind}")
    rings(data)
    chains(data)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data")
