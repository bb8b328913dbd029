"""Topics: :class:`LatentDirichletAllocation`."""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import MeanwhileEstimator, _Callback, _Deal, _Floats, _Matrix, _Path, _Request, _Seed

class LatentDirichletAllocation(MeanwhileEstimator):
    n_components: int
    doc_topic_prior: float | None
    topic_word_prior: float | None
    learning_method: Literal['batch', 'online']
    learning_decay: float
    learning_offset: float
    max_iter: int
    batch_size: int
    evaluate_every: int
    total_samples: float
    perp_tol: float
    mean_change_tol: float
    max_doc_update_iter: int
    n_jobs: int | None
    verbose: int
    random_state: _Seed
    init: Literal['documents', 'random']
    components_: _Floats
    doc_topic_prior_: float
    topic_word_prior_: float
    n_batch_iter_: int
    n_iter_: int

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        learning_method: Literal['batch', 'online'] = 'batch',
        learning_decay: float = 0.7,
        learning_offset: float = 10.0,
        max_iter: int = 10,
        batch_size: int = 128,
        evaluate_every: int = -1,
        total_samples: float = 1e6,
        perp_tol: float = 1e-1,
        mean_change_tol: float = 1e-3,
        max_doc_update_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: _Seed = None,
        init: Literal['documents', 'random'] = 'documents',
        shards: int | None = None,
        workers: int | None = None,
        deal: _Deal = None,
        run_dir: _Path | None = None,
        callback: _Callback = None,
    ) -> None: ...
    def native_parameters(self) -> dict[str, Any]: ...
    def fit(self, X: _Matrix, y: object = None) -> Self: ...
    def partial_fit(self, X: _Matrix, y: object = None) -> Self: ...
    @property
    def exp_dirichlet_component_(self) -> _Floats: ...
    # A table where set_output() asks for one.
    def transform(self, X: _Matrix, *, normalize: bool = True) -> Any: ...
    def fit_transform(self, X: _Matrix, y: object = None, *, normalize: bool = True) -> Any: ...
    def score(self, X: _Matrix, y: object = None) -> float: ...
    def perplexity(self, X: _Matrix, sub_sampling: bool = False) -> float: ...
    def to_sklearn(self) -> Any: ...
    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]: ...
    def set_output(self, *, transform: Literal['default', 'pandas', 'polars'] | None = None) -> Self: ...
    def set_transform_request(self, *, normalize: _Request = ...) -> Self: ...
