"""What all estimators share. scikit-learn has no types of its own: its methods are declared here, so that
a misspelled name is an error wherever scikit-learn's types come from."""

from collections.abc import Callable
from os import PathLike
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._native import Model

class _Table(Protocol):
    """A table of polars, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class _Sparse(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any: ...

_Matrix: TypeAlias = ArrayLike | _Table | _Sparse
_Floats: TypeAlias = NDArray[np.floating[Any]]
_Path: TypeAlias = str | PathLike[str]
_Seed: TypeAlias = int | np.random.RandomState | None
_Deal: TypeAlias = Literal['content', 'blocks'] | None
_Callback: TypeAlias = Callable[[dict[str, Any]], object] | None
_ClassWeight: TypeAlias = dict[Any, float] | Literal['balanced'] | None
_Request: TypeAlias = bool | str | None

RUN_CONSTRAINTS: dict[str, list[Any]]

def only(estimator: MeanwhileEstimator, **allowed: list[Any]) -> None: ...
def checked(estimator: MeanwhileEstimator, x: Any, y: Any = 'no_validation', *, reset: bool, **options: Any) -> Any: ...
def weights_of(sample_weight: Any, x: Any) -> NDArray[np.float64] | None: ...
def keep_parameters(estimator: MeanwhileEstimator, values: dict[str, Any]) -> None: ...

class MeanwhileEstimator:
    shards: int | None
    workers: int | None
    deal: _Deal
    run_dir: _Path | None
    callback: _Callback

    model_: Model
    model_sha256_: str
    history_: dict[str, NDArray[Any]]
    run_: dict[str, Any]
    converged_: bool
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def __sklearn_tags__(self) -> Any: ...
    def save(self, path: _Path) -> Self: ...
    @classmethod
    def load(cls, path: _Path, **parameters: Any) -> Self: ...
    @classmethod
    def from_model(cls, model: Model, **parameters: Any) -> Self: ...
