"""Classical machine learning on many rows, with one answer wherever it runs."""

from ._native import (
    Error as Error,
    FailedError as FailedError,
    HostError as HostError,
    InputError as InputError,
    Model as Model,
    UsageError as UsageError,
    __version__ as __version__,
)
from ._plan import Plan as Plan, plan as plan
from ._runs import Run as Run, load as load
from .cluster import KMeans as KMeans
from .decomposition import LatentDirichletAllocation as LatentDirichletAllocation
from .linear_model import (
    ElasticNet as ElasticNet,
    HuberRegressor as HuberRegressor,
    Lasso as Lasso,
    LinearSVC as LinearSVC,
    LogisticRegression as LogisticRegression,
    Ridge as Ridge,
)

__all__ = [
    'KMeans',
    'LinearSVC',
    'LogisticRegression',
    'Ridge',
    'Lasso',
    'ElasticNet',
    'HuberRegressor',
    'LatentDirichletAllocation',
    'Plan',
    'plan',
    'Run',
    'load',
    'Model',
    'Error',
    'UsageError',
    'InputError',
    'HostError',
    'FailedError',
    '__version__',
]
