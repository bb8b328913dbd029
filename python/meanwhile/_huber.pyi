"""Regression by Huber's loss, whose scale is fitted."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import _Callback, _Deal, _Matrix, _Path, _Request
from ._linear import LinearRegressor

class HuberRegressor(LinearRegressor):
    epsilon: float
    max_iter: int
    alpha: float
    warm_start: bool
    fit_intercept: bool
    tol: float
    scale_: float
    outliers_: NDArray[np.bool_]
    n_iter_: int

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-05,
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, total: float, scale: float | None = None) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...
