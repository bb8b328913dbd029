"""The common part of linear models."""

from abc import ABCMeta
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import MeanwhileEstimator, _Floats, _Matrix, _Request

NOTHING: float

def total_weight(weights: NDArray[np.float64] | None, n: int) -> float: ...

class LinearEstimator(MeanwhileEstimator):
    coef_: _Floats

class LinearClassifier(LinearEstimator):
    classes_: NDArray[Any]
    intercept_: _Floats

    def predict(self, X: _Matrix) -> NDArray[Any]: ...
    def decision_function(self, X: _Matrix) -> _Floats: ...
    def score(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def set_score_request(self, *, sample_weight: _Request = ...) -> Self: ...
    def densify(self) -> Self: ...
    def sparsify(self) -> Self: ...

class LinearRegressor(LinearEstimator, metaclass=ABCMeta):
    intercept_: Any  # a number; with several targets an array

    def predict(self, X: _Matrix) -> _Floats: ...
    def score(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float: ...
    def set_score_request(self, *, sample_weight: _Request = ...) -> Self: ...
