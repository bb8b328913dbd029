"""scikit-learn's own checks: all of them, with the number that its class of the same name has."""

import collections
import os

# Before scipy is imported: one check asks for it, and would be skipped.
os.environ.setdefault('SCIPY_ARRAY_API', '1')

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator

import meanwhile

# scikit-learn 1.9.1 has as many for its own classes, less those of devices and array libraries
# (LogisticRegression 20, Ridge 20), and those that it repeats for other values of ``solver`` (4 and 5).
COUNTS = {
    'KMeans': 59,
    'LinearSVC': 66,
    'LogisticRegression': 66,
    'Ridge': 61,
    'Lasso': 61,
    'ElasticNet': 61,
    'HuberRegressor': 60,
    'LatentDirichletAllocation': 48,
}


def name_of(check):
    return getattr(check, 'func', check).__name__


def checks():
    for name in COUNTS:
        for estimator, check in estimator_checks_generator(getattr(meanwhile, name)()):
            yield pytest.param(estimator, check, id=f'{name}-{name_of(check)}')


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning', 'ignore::FutureWarning')
@pytest.mark.parametrize(('estimator', 'check'), checks())
def test_check(estimator, check):
    try:
        check(estimator)
    except pytest.skip.Exception:
        raise
    except Exception as error:
        # unittest.SkipTest would count as skipped: nothing may be.
        assert 'SkipTest' not in type(error).__name__, error
        raise


@pytest.mark.parametrize('name', COUNTS)
def test_number_of_checks(name):
    """No tag is there to make the list shorter."""
    ours = collections.Counter(name_of(check) for _, check in estimator_checks_generator(getattr(meanwhile, name)()))
    assert sum(ours.values()) == COUNTS[name]
    theirs = collections.Counter(
        name_of(check) for _, check in estimator_checks_generator(_theirs(name)(), mark='xfail', expected_failed_checks={})
    )
    # Checks with several values of `solver` are one here; array libraries are one check, with numpy.
    missing = {check for check in theirs if 'array_api' not in check} - set(ours)
    assert not missing
    assert not set(ours) - set(theirs)


def _theirs(name):
    import sklearn.cluster
    import sklearn.decomposition
    import sklearn.linear_model
    import sklearn.svm

    for module in (sklearn.cluster, sklearn.svm, sklearn.linear_model, sklearn.decomposition):
        if hasattr(module, name):
            return getattr(module, name)
    raise LookupError(name)


def test_not_converging_is_a_warning():
    import numpy as np

    x = np.random.default_rng(0).normal(size=(200, 5))
    with pytest.warns(ConvergenceWarning, match='max_iter'):
        meanwhile.LogisticRegression(max_iter=1).fit(x, x[:, 0] > 0)
