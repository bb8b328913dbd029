"""Classical machine learning on many rows, with one answer wherever it runs.

    >>> import meanwhile
    >>> meanwhile.__version__.count('.')
    2

Names are imported when they are first used: ``import meanwhile`` imports neither scikit-learn nor the
compiled library.
"""

import importlib

# Name -> the module below this one that has it.
_PLACES = {
    'KMeans': 'cluster',
    'LinearSVC': 'linear_model',
    'LogisticRegression': 'linear_model',
    'Ridge': 'linear_model',
    'Lasso': 'linear_model',
    'ElasticNet': 'linear_model',
    'HuberRegressor': 'linear_model',
    'LatentDirichletAllocation': 'decomposition',
    'Plan': '_plan',
    'plan': '_plan',
    'Run': '_runs',
    'load': '_runs',
    'Model': '_native',
    'Error': '_native',
    'UsageError': '_native',
    'InputError': '_native',
    'HostError': '_native',
    'FailedError': '_native',
    '__version__': '_native',
}
__all__ = list(_PLACES)  # noqa: PLE0604


def __getattr__(name):
    try:
        place = _PLACES[name]
    except KeyError:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}') from None
    value = getattr(importlib.import_module(f'.{place}', __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_PLACES})
