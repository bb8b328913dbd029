"""Clustering: :class:`KMeans`."""

from collections.abc import Callable
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import MeanwhileEstimator, _Callback, _Deal, _Floats, _Matrix, _Path, _Request, _Seed

_Init: TypeAlias = Literal['k-means++', 'random'] | ArrayLike | Callable[..., ArrayLike]

def mean_variance(x: Any, weights: NDArray[np.float64] | None) -> float: ...

class KMeans(MeanwhileEstimator):
    n_clusters: int
    init: _Init
    n_init: int | Literal['auto']
    max_iter: int
    tol: float
    verbose: int
    random_state: _Seed
    copy_x: bool
    algorithm: Literal['lloyd', 'elkan']
    batch_size: int | None
    cluster_centers_: _Floats
    labels_: NDArray[np.int32]
    inertia_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: _Init = 'k-means++',
        n_init: int | Literal['auto'] = 'auto',
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: _Seed = None,
        copy_x: bool = True,
        algorithm: Literal['lloyd', 'elkan'] = 'lloyd',
        batch_size: int | None = None,
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, x: Any, weights: NDArray[np.float64] | None = None) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict(self, X: _Matrix) -> NDArray[np.int32]: ...
    def fit_predict(
        self, X: _Matrix, y: object = None, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.int32]: ...
    # A table where set_output() asks for one.
    def transform(self, X: _Matrix) -> Any: ...
    def fit_transform(self, X: _Matrix, y: object = None, sample_weight: ArrayLike | None = None) -> Any: ...
    def score(self, X: _Matrix, y: object = None, sample_weight: ArrayLike | None = None) -> float: ...
    def to_sklearn(self) -> Any: ...
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]: ...
    def set_output(self, *, transform: Literal['default', 'pandas', 'polars'] | None = None) -> Self: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...
    def set_score_request(self, *, sample_weight: _Request = ...) -> Self: ...
