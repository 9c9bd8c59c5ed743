"""Which ranks share which stores: what `sill topo` found. Needs the standard library only, for every rank loads it."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from .. import native


@dataclass(frozen=True)
class Node:
    """The part of a store's ranks that run on one node; no ranks where no launcher started any."""

    name: str
    ranks: list[int]


@dataclass(frozen=True)
class Group:
    """A store and who shares it."""

    path: str  # what the lowest rank calls the directory
    store: native.Store
    unproven: bool  # couldn't be probed, and rests on its identity
    nodes: list[Node]

    @property
    def ranks(self) -> list[int]:
        return sorted(rank for node in self.nodes for rank in node.ranks)


@dataclass(frozen=True)
class Cost:
    """What finding the groups of a directory took: file-system operations of all ranks, and the slowest rank's time."""

    method: str
    creates: int
    looks: int
    removes: int
    seconds: float


@dataclass(frozen=True)
class Directory:
    """A directory that was asked about, and its stores."""

    name: str
    groups: list[Group]
    without: list[int]  # ranks that don't see it
    cost: Cost | None = None  # None where no launcher started any ranks


@dataclass(frozen=True)
class Topology:
    """What the command found."""

    ranks: int
    nodes: list[str]
    directories: list[Directory]


def of_this_machine(names: Sequence[str]) -> Topology:
    """What lies under some directories, without any ranks."""
    host = socket.gethostname()
    directories = [
        Directory(name, [Group(os.path.abspath(name), native.query(name), False, [Node(host, [])])], [])
        for name in names
    ]
    return Topology(0, [host], directories)


def place(store: native.Store) -> str:
    """Where a store's bytes are, e.g. "local, memory", "local, nvme0n1 (solid state)", "shared, server:/export"."""
    return f"{reach(store)}, {medium(store)}"


def reach(store: native.Store) -> str:
    return {True: "shared", False: "local", None: "local or shared"}[store.shared]


def medium(store: native.Store) -> str:
    """What keeps the bytes, as far as it is known."""
    if store.medium == "memory":
        return "memory"
    name = store.device or store.source or "unknown"
    return f"{name} ({store.medium})" if store.medium else name
