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
    """Finds customers who pass money on more than once and share devices. Each alone is common: neighbours share
    terminals, families phones, and many send money on that they received."""
    used = data.execute("""
        WITH passing AS (SELECT owns.source AS customer FROM edges AS owns
                         JOIN hops ON hops.account = owns.target WHERE owns.kind = 'OWNS'
                         GROUP BY owns.source HAVING count(*) >= 2),
             uses AS (SELECT DISTINCT source, target FROM edges JOIN passing ON source = customer
                      WHERE kind = 'USES')
        SELECT source, target FROM uses
        WHERE target IN (SELECT target FROM uses GROUP BY target HAVING count(*) >= 3)""").fetchall()
    mules = {customer for (customer,) in data.execute(
        "SELECT customer_id FROM rings WHERE pattern = 'SHARED_DEVICE'").fetchall()}
    found = [{node for node in group if node.startswith("CUST_")} for group in components(used)]
    members = set().union(*found)
    print(f"rings: {len(found)} with {len(members)} customers: {len(members & mules)} mules, of "
          f"{len(mules)} in all")
    for ring in sorted(found, key=len, reverse=True)[:3]:
        print(f"  {len(ring)} customers: {', '.join(sorted(ring)[:3])}, ...")


def chains(data: duckdb.DuckDBPyConnection) -> None:
    """Finds payments whose receiver soon sends almost the same amount to another account."""
    hops = data.execute("SELECT one, other, same FROM hops").fetchall()
    print(f"chains: money moves on {len(hops)} times, {sum(same for _, _, same in hops)} of them in a true chain")
    stolen = {payment for one, other, same in hops if same for payment in (one, other)}
    found = components([(one, other) for one, other, _ in hops])
    by_length = collections.defaultdict(list)
    for chain in found:
        by_length[len(chain)].append(chain)
    for length, some in sorted(by_length.items()):
        # Honest people send money on once; the third payment tells.
        true = sum(len(chain & stolen) for chain in some)
        print(f"  {len(some)} of {length} payments: {true} of {length * len(some)} payments are stolen money")


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
    data.execute(f"""
        CREATE TABLE hops AS
        SELECT next.source AS account, first.transaction_id AS one, next.transaction_id AS other,
               first.fraud_ring IS NOT NULL AND first.fraud_ring = next.fraud_ring AS same
        FROM edges AS first JOIN edges AS next ON next.source = first.target
        AND next.at BETWEEN first.at AND first.at + INTERVAL {MINUTES} MINUTE
        AND next.amount BETWEEN first.amount * (1 - {KEPT}) AND first.amount
        WHERE first.kind = 'SENDS' AND next.kind = 'SENDS' AND first.amount > 100""")
    rings(data)
    chains(data)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data")
