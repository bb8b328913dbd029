"""Linear models that predict numbers, by the squared loss."""

from typing import Any, Literal, Self

from numpy.typing import ArrayLike

from ._base import _Callback, _Deal, _Matrix, _Path, _Request, _Seed
from ._linear import LinearRegressor
from ._native import Model

class Ridge(LinearRegressor):
    alpha: float
    fit_intercept: bool
    copy_X: bool
    max_iter: int | None
    tol: float
    solver: Literal['auto', 'lbfgs']
    positive: Literal[False]
    random_state: _Seed
    models_: list[Model]  # with several targets
    n_iter_: Any  # a number; with several targets a list

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: Literal['auto', 'lbfgs'] = 'auto',
        positive: Literal[False] = False,
        random_state: _Seed = None,
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, total: float) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...

class ElasticNet(LinearRegressor):
    alpha: float
    l1_ratio: float
    fit_intercept: bool
    precompute: Literal[False]
    max_iter: int
    copy_X: bool
    tol: float
    warm_start: bool
    positive: Literal[False]
    random_state: _Seed
    selection: Literal['cyclic']
    models_: list[Model]  # with several targets
    n_iter_: Any  # a number; with several targets a list

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Literal[False] = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: Literal[False] = False,
        random_state: _Seed = None,
        selection: Literal['cyclic'] = 'cyclic',
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self, total: float) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self: ...
    @property
    def sparse_coef_(self) -> Any: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...

class Lasso(ElasticNet):
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Literal[False] = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: Literal[False] = False,
        random_state: _Seed = None,
        selection: Literal['cyclic'] = 'cyclic',
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def to_sklearn(self) -> Any: ...
    def set_fit_request(self, *, sample_weight: _Request = ...) -> Self: ...
