"""Linear models that tell classes apart."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import _Callback, _ClassWeight, _Deal, _Floats, _Matrix, _Path, _Request, _Seed
from ._linear import LinearClassifier

class LinearSVC(LinearClassifier):
    penalty: Literal['l2', 'l1']
    loss: Literal['squared_hinge', 'hinge']
    dual: bool | Literal['auto']
    tol: float
    C: float
    multi_class: Literal['ovr']
    fit_intercept: bool
    intercept_scaling: float
    class_weight: _ClassWeight
    verbose: int
    random_state: _Seed
    max_iter: int
    n_iter_: int

    def __init__(
        self,
        penalty: Literal['l2', 'l1'] = 'l2',
        loss: Literal['squared_hinge', 'hinge'] = 'squared_hinge',
        *,
        dual: bool | Literal['auto'] = 'auto',
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: Literal['ovr'] = 'ovr',
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: _ClassWeight = None,
        verbose: int = 0,
        random_state: _Seed = None,
        max_iter: int = 1000,
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, total: float, classes: int = 2) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...

class LogisticRegression(LinearClassifier):
    penalty: Literal['l1', 'l2', 'elasticnet', 'deprecated'] | None
    C: float
    l1_ratio: float
    dual: Literal[False]
    tol: float
    fit_intercept: bool
    intercept_scaling: float
    class_weight: _ClassWeight
    random_state: _Seed
    solver: Literal['lbfgs']
    max_iter: int
    verbose: int
    warm_start: bool
    n_jobs: int | None
    n_iter_: NDArray[np.int32]

    def __init__(
        self,
        penalty: Literal['l1', 'l2', 'elasticnet', 'deprecated'] | None = 'deprecated',
        *,
        C: float = 1.0,
        l1_ratio: float = 0.0,
        dual: Literal[False] = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: _ClassWeight = None,
        random_state: _Seed = None,
        solver: Literal['lbfgs'] = 'lbfgs',
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, total: float, classes: int = 2) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def predict_proba(self, X: _Matrix) -> _Floats: ...
    def predict_log_proba(self, X: _Matrix) -> _Floats: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...
