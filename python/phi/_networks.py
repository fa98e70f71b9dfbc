"""Integrated information of networks of binary nodes, under IIT 3.0 and 4.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Optional, Union, overload

from phi import _native
from phi._arrays import Array, check_array, threads_of


@dataclass(frozen=True)
class Part:
    """One part of a partition: nodes of the mechanism, and of its purview.

    >>> phi.iit(tpm, (1, 0, 0)).concepts[0].cause.partition
    (Part(mechanism=(), purview=(2,)), Part(mechanism=(1,), purview=()))
    """

    mechanism: tuple[int, ...]
    purview: tuple[int, ...]


@dataclass(frozen=True)
class Cause:
    """The core cause of a mechanism.

    >>> cause = phi.iit(tpm, (1, 0, 0)).concepts[0].cause
    >>> cause.purview, cause.phi
    ((2,), 0.5)
    """

    purview: tuple[int, ...]
    phi: float  #: as PyPhi's small phi, rounded to six decimals
    repertoire: tuple[float, ...]  #: probability of each past state, first node fastest
    partition: Optional[tuple[Part, Part]]  #: None after the cut


@dataclass(frozen=True)
class Effect:
    """The core effect of a mechanism.

    >>> phi.iit(tpm, (1, 0, 0)).concepts[0].effect.probability_on
    (0.5,)
    """

    purview: tuple[int, ...]
    phi: float
    probability_on: tuple[float, ...]  #: of each node of the purview to be on next
    partition: Optional[tuple[Part, Part]]  #: None after the cut


@dataclass(frozen=True)
class Concept:
    """A mechanism with its core cause and effect.

    >>> [concept.mechanism for concept in phi.iit(tpm, (1, 0, 0)).concepts]
    [(1,), (0, 1), (2,), (0, 1, 2)]
    """

    mechanism: tuple[int, ...]
    phi: float
    cause: Cause
    effect: Effect


@dataclass(frozen=True)
class Cut:
    """Connections from nodes to nodes, which the cut severs (PyPhi's ``Cut``).

    >>> phi.iit(tpm, (1, 0, 0)).cut
    Cut(from_nodes=(1, 2), to_nodes=(0,))
    """

    from_nodes: tuple[int, ...]
    to_nodes: tuple[int, ...]


@dataclass(frozen=True)
class SystemIrreducibility:
    """The integrated information of a system under IIT 3.0 (PyPhi's ``SystemIrreducibilityAnalysis``).

    >>> phi.iit(tpm, (1, 0, 0)).phi
    2.3125
    """

    nodes: tuple[int, ...]
    phi: float  #: earth mover's distance, rounded to six decimals
    cut: Optional[Cut]  #: the minimum cut; None if Phi is 0 without any
    why_zero: str
    concepts: tuple[Concept, ...]  #: of the uncut system (PyPhi's ``ces``)
    concepts_after_cut: tuple[Concept, ...]  #: (PyPhi's ``partitioned_ces``)


@dataclass(frozen=True)
class Complexes:
    """All systems of a network that its state allows, and the one with the largest Phi.

    >>> phi.complexes(tpm, (1, 0, 0)).major.nodes
    (0, 1, 2)
    """

    systems: tuple[SystemIrreducibility, ...]
    major: Optional[SystemIrreducibility]  #: None if all are 0


@dataclass(frozen=True)
class SystemState:
    """The cause or effect state of a system under IIT 4.0.

    >>> phi.iit(tpm, (1, 0, 0), theory=4).cause.state
    (1, 1, 0)
    """

    state: tuple[int, ...]
    information: float  #: intrinsic, bits
    tied: int  #: states with as much information, this one included
    phi: float  #: phi_c or phi_e at the minimum partition, bits


@dataclass(frozen=True)
class DirectedPart:
    """Nodes of which a partition cuts "inputs", "outputs" or "both".

    >>> phi.iit(tpm, (1, 0, 0), theory=4).partition
    (DirectedPart(nodes=(0,), cut='inputs'), DirectedPart(nodes=(1, 2), cut='outputs'))
    """

    nodes: tuple[int, ...]
    cut: str


@dataclass(frozen=True)
class Purview:
    """What a mechanism specifies, as its cause or its effect.

    >>> cause = phi.iit(tpm, (1, 0, 0), theory=4).structure.distinctions[0].cause
    >>> cause.purview, cause.state
    ((2,), (0,))
    """

    purview: tuple[int, ...]
    state: tuple[int, ...]
    phi: float  #: bits
    selectivity: float  #: probability of the state
    partition: tuple[Part, ...]  #: the minimum


@dataclass(frozen=True)
class Distinction:
    """A mechanism whose cause and effect agree with the states of the system (PyPhi 2's ``Distinction``).

    >>> [found.mechanism for found in phi.iit(tpm, (1, 0, 0), theory=4).structure.distinctions]
    [(1,), (2,)]
    """

    mechanism: tuple[int, ...]
    phi: float  #: phi_d, bits
    cause: Purview
    effect: Purview


@dataclass(frozen=True)
class RelationsOfOrder:
    """All relations of so many distinctions.

    >>> [(each.distinctions, each.count) for each in phi.iit(tpm, (1, 0, 0), theory=4).structure.relations.by_order]
    [(1, 0.0), (2, 1.0)]
    """

    distinctions: int
    count: float  #: exact up to 1e12
    sum_phi: float  #: of phi_r, bits


@dataclass(frozen=True)
class Relations:
    """How distinctions overlap; numbers are exact up to 1e12.

    >>> phi.iit(tpm, (1, 0, 0), theory=4).structure.relations.count
    1.0
    """

    count: float
    faces: float
    sum_phi: float  #: of phi_r, bits
    by_order: tuple[RelationsOfOrder, ...]
    faces_by_order: tuple[float, ...]  #: by number of causes and effects, from 2


@dataclass(frozen=True)
class PhiStructure:
    """What a system specifies (PyPhi 2's ``CauseEffectStructure``).

    >>> structure = phi.iit(tpm, (1, 0, 0), theory=4).structure
    >>> round(structure.phi, 3), round(structure.sum_phi_d, 3)
    (1.125, 1.0)
    """

    phi: float  #: Phi, the sum of phi_d and phi_r, bits
    sum_phi_d: float
    distinctions: tuple[Distinction, ...]
    relations: Relations
    incongruent: int  #: irreducible mechanisms that disagree with the states of the system
    all_ties_compared: bool  #: else Phi may be larger


@dataclass(frozen=True)
class Iit4System:
    """The integrated information of a system under IIT 4.0, in bits.

    >>> round(phi.iit(tpm, (1, 0, 0), theory=4).phi, 3)
    0.415
    """

    nodes: tuple[int, ...]
    phi: float  #: phi_s
    partition: tuple[DirectedPart, ...]  #: the minimum
    why_zero: str
    cause: Optional[SystemState]
    effect: Optional[SystemState]
    structure: Optional[PhiStructure]  #: of ``complexes`` only those of complexes have one


@dataclass(frozen=True)
class Iit4Complexes:
    """All systems of a network, and its complexes by descending phi_s.

    >>> [system.nodes for system in phi.complexes(tpm, (1, 0, 0), theory=4).complexes]
    [(1, 2)]
    """

    systems: tuple[Iit4System, ...]
    complexes: tuple[Iit4System, ...]


def _parts_of(parts: Any) -> Optional[tuple[Part, Part]]:
    return None if parts is None else (Part(**parts[0]), Part(**parts[1]))


def concept_of(row: Mapping[str, Any]) -> Concept:
    """Returns what the module says of a concept."""
    cause, effect = row["cause"], row["effect"]
    return Concept(row["mechanism"], row["phi"],
                   Cause(**{**cause, "partition": _parts_of(cause["partition"])}),
                   Effect(**{**effect, "partition": _parts_of(effect["partition"])}))


def system_of(row: Mapping[str, Any]) -> SystemIrreducibility:
    """Returns what the module says of a system."""
    return SystemIrreducibility(
        row["nodes"], row["phi"], None if row["cut"] is None else Cut(*row["cut"]), row["why_zero"],
        tuple(concept_of(each) for each in row["concepts"]),
        tuple(concept_of(each) for each in row["concepts_after_cut"]))


def _purview_of(row: Mapping[str, Any]) -> Purview:
    return Purview(**{**row, "partition": tuple(Part(**part) for part in row["partition"])})


def _structure_of(row: Optional[Mapping[str, Any]]) -> Optional[PhiStructure]:
    if row is None:
        return None
    distinctions = tuple(
        Distinction(each["mechanism"], each["phi"], _purview_of(each["cause"]), _purview_of(each["effect"]))
        for each in row["distinctions"])
    orders = tuple(RelationsOfOrder(*each) for each in row["relations"]["by_order"])
    return PhiStructure(**{**row, "distinctions": distinctions,
                           "relations": Relations(**{**row["relations"], "by_order": orders})})


def _iit4_of(row: Mapping[str, Any]) -> Iit4System:
    return Iit4System(**{
        **row, "partition": tuple(DirectedPart(*part) for part in row["partition"]),
        "cause": None if row["cause"] is None else SystemState(**row["cause"]),
        "effect": None if row["effect"] is None else SystemState(**row["effect"]),
        "structure": _structure_of(row["structure"]),
    })


def _is_iit4(theory: float, single_nodes: bool) -> bool:
    if theory not in (3, 4):
        raise ValueError(f"theory: {theory} is not known; use 3 or 4")
    if theory == 4 and single_nodes:
        raise ValueError("single_nodes: is of theory 3; under 4 a node that influences itself has phi_s")
    return theory == 4


@overload
def iit(tpm: Array, state: Sequence[int], *, theory: Literal[3] = 3, nodes: Optional[Sequence[int]] = None,
        single_nodes: bool = False, threads: Optional[int] = None) -> SystemIrreducibility: ...
@overload
def iit(tpm: Array, state: Sequence[int], *, theory: Literal[4], nodes: Optional[Sequence[int]] = None,
        single_nodes: bool = False, threads: Optional[int] = None) -> Iit4System: ...


def iit(
    tpm: Array,
    state: Sequence[int],
    *,
    theory: Literal[3, 4] = 3,
    nodes: Optional[Sequence[int]] = None,
    single_nodes: bool = False,
    threads: Optional[int] = None,
) -> Union[SystemIrreducibility, Iit4System]:
    """Returns the integrated information of binary nodes in a state: under IIT 3.0, as PyPhi 1.2, or 4.0, as PyPhi 2.

    ``tpm`` is PyPhi's state-by-node (2^n x n) or state-by-state (2^n x 2^n) matrix, first node fastest;
    ``nodes`` is a subsystem, with the others fixed (3.0) or as background (4.0). ``single_nodes`` is PyPhi's
    SINGLE_MICRO_NODES_WITH_SELFLOOPS_HAVE_PHI of 3.0. Up to eight nodes (3.0) or nine (4.0).

    >>> system = phi.iit(tpm, (1, 0, 0))
    >>> system.phi, system.cut.from_nodes
    (2.3125, (1, 2))
    >>> round(phi.iit(tpm, (1, 0, 0), theory=4, nodes=[0, 1]).phi, 3)
    0.0
    """
    matrix = check_array(tpm, "the transition matrix", "states x nodes")
    arguments: dict[str, Any] = {"nodes": [] if nodes is None else list(nodes), "threads": threads_of(threads)}
    bits = [int(bit) for bit in state]
    if _is_iit4(theory, single_nodes):
        return _iit4_of(_native.iit4(matrix, bits, arguments))
    return system_of(_native.iit(matrix, bits, {**arguments, "single_nodes": single_nodes}))


@overload
def complexes(tpm: Array, state: Sequence[int], *, theory: Literal[3] = 3, single_nodes: bool = False,
              threads: Optional[int] = None) -> Complexes: ...
@overload
def complexes(tpm: Array, state: Sequence[int], *, theory: Literal[4], single_nodes: bool = False,
              threads: Optional[int] = None) -> Iit4Complexes: ...


def complexes(
    tpm: Array,
    state: Sequence[int],
    *,
    theory: Literal[3, 4] = 3,
    single_nodes: bool = False,
    threads: Optional[int] = None,
) -> Union[Complexes, Iit4Complexes]:
    """Returns the integrated information of every system in a network, and its major complex (IIT 3.0) or complexes.

    >>> found = phi.complexes(tpm, (1, 0, 0))
    >>> len(found.systems), found.major.nodes
    (5, (0, 1, 2))
    """
    matrix = check_array(tpm, "the transition matrix", "states x nodes")
    bits = [int(bit) for bit in state]
    if _is_iit4(theory, single_nodes):
        rows, chosen = _native.complexes4(matrix, bits, {"threads": threads_of(threads)})
        found = tuple(_iit4_of(row) for row in rows)
        return Iit4Complexes(found, tuple(found[i] for i in chosen))
    rows, major = _native.complexes(matrix, bits, {"single_nodes": single_nodes, "threads": threads_of(threads)})
    systems = tuple(system_of(row) for row in rows)
    return Complexes(systems, None if major is None else systems[major])
