"""Plans: how many machines, how long, how much, before anything is started."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal

class Plan:
    best: dict[str, Any]
    points: list[dict[str, Any]]
    about: dict[str, Any]
    svg: str

    def __init__(self, answer: Mapping[str, Any], svg: str) -> None: ...
    def plot(self, axes: Any = None) -> Any: ...

def plan(
    learner: str,
    *,
    rows: float,
    dims: float,
    machine: str | PathLike[str] | None = None,
    runtime: Literal['threads', 'mpi', 'storage'] | None = None,
    workers: str | Iterable[int] | None = None,
    deadline: str | float | None = None,
    budget: float | None = None,
    **parameters: Any,
) -> Plan: ...
