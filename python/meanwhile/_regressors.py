"""Linear models that predict numbers, by the squared loss."""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import MultiOutputMixin
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import RUN_CONSTRAINTS, keep_parameters, only
from ._linear import NOTHING, LinearRegressor


class Ridge(MultiOutputMixin, LinearRegressor):
    """Least squares with an l2 penalty: ``sum of weight_i (y_i - x_i w - b)^2 + alpha |w|^2``.

    Parameters
    ----------
    alpha : float, default=1.0
        One number for all targets.
    fit_intercept, copy_X, max_iter, random_state
        As in :class:`sklearn.linear_model.Ridge`; data is never changed. ``max_iter=None`` is 10,000
        rounds, and ``random_state=None`` seed 0.
    tol : float, default=1e-4
        Makes no difference, as with scikit-learn's closed form: the minimum is reached to rounding.
    solver : {'auto', 'lbfgs'}, default='auto'
    positive : False
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> from meanwhile import Ridge
    >>> model = Ridge(alpha=1e-6).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> round(float(model.predict([[3.0]])[0]), 3)
    7.0
    """

    _parameter_constraints = {
        'alpha': [Interval(Real, 0, None, closed='left'), np.ndarray],
        'fit_intercept': ['boolean'],
        'copy_X': ['boolean'],
        'max_iter': [Interval(Integral, 1, None, closed='left'), None],
        'tol': [Interval(Real, 0, None, closed='left')],
        'solver': [StrOptions({'auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga', 'lbfgs'})],
        'positive': ['boolean'],
        'random_state': ['random_state'],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver='auto',
        positive=False,
        random_state=None,
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        keep_parameters(self, locals())

    def native_parameters(self, total):
        """The library's parameters where weights sum to ``total``."""
        only(self, positive=[False], solver=['auto', 'lbfgs'])
        if not isinstance(self.alpha, Real):
            raise ValueError('Ridge: alpha must be one number for all targets')
        return {
            'loss': 'squared',
            'l1': 0.0,
            'l2': float(self.alpha) / total,
            'solver': 'lbfgs',
            'history': 50,
            'fit_intercept': bool(self.fit_intercept),
            'max_iter': 10_000 if self.max_iter is None else int(self.max_iter),
            'tol': NOTHING,
        }

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their numbers: one for each row, or a column for each target."""
        self._validate_params()
        X, y, weights = self._read(X, y, sample_weight, multi_output=True)
        self._fit_targets(X, y, weights)
        return self

    def to_sklearn(self):
        """:class:`sklearn.linear_model.Ridge` with this estimator's attributes."""
        from sklearn.linear_model import Ridge as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_'))


class ElasticNet(MultiOutputMixin, LinearRegressor):
    """Least squares with penalties l1 and l2: ``1 / (2 n) sum of (y_i - x_i w - b)^2 + alpha l1_ratio
    |w|_1 + alpha (1 - l1_ratio) / 2 |w|^2``.

    Parameters
    ----------
    alpha, l1_ratio, fit_intercept, copy_X, max_iter, warm_start, random_state
        As in :class:`sklearn.linear_model.ElasticNet`; data is never changed.
        ``random_state=None`` is seed 0.
    tol : float, default=1e-4
        Training stops when the duality gap is at most ``tol * mean of y^2`` (of centred ``y`` where
        there is an intercept), as scikit-learn's does.
    precompute : False
    positive : False
    selection : 'cyclic'
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> from meanwhile import ElasticNet
    >>> model = ElasticNet(alpha=0.1).fit([[0.0, 0], [1, 1], [2, 2]], [0.0, 1, 2])
    >>> model.predict([[1.0, 1]]).round(3).tolist()
    [1.0]
    """

    _parameter_constraints = {
        'alpha': [Interval(Real, 0, None, closed='left')],
        'l1_ratio': [Interval(Real, 0, 1, closed='both')],
        'fit_intercept': ['boolean'],
        'precompute': ['boolean', 'array-like'],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        'copy_X': ['boolean'],
        'tol': [Interval(Real, 0, None, closed='left')],
        'warm_start': ['boolean'],
        'positive': ['boolean'],
        'random_state': ['random_state'],
        'selection': [StrOptions({'random', 'cyclic'})],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        alpha=1.0,
        *,
        l1_ratio=0.5,
        fit_intercept=True,
        precompute=False,
        max_iter=1000,
        copy_X=True,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection='cyclic',
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        keep_parameters(self, locals())

    def native_parameters(self, total):
        """The library's parameters; the objective is a mean already, whatever weights sum to."""
        only(self, precompute=[False], positive=[False], selection=['cyclic'])
        parameters = {
            'loss': 'squared',
            'l1': float(self.alpha) * float(self.l1_ratio),
            'l2': float(self.alpha) * (1 - float(self.l1_ratio)),
            'fit_intercept': bool(self.fit_intercept),
            'max_iter': int(self.max_iter),
        }
        if parameters['l1'] > 0:
            # The library compares the gap with half the mean square.
            parameters.update(solver='working-set', tol=min(1.0, 2 * float(self.tol)))
        else:
            parameters.update(solver='lbfgs', tol=NOTHING, history=50)
        return parameters

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their numbers: one for each row, or a column for each target."""
        self._validate_params()
        X, y, weights = self._read(X, y, sample_weight, multi_output=True)
        self._fit_targets(X, y, weights)
        return self

    @property
    def sparse_coef_(self):
        """``coef_`` as a sparse matrix."""
        return sparse.csr_matrix(self.coef_)

    def to_sklearn(self):
        """:class:`sklearn.linear_model.ElasticNet` with this estimator's attributes."""
        from sklearn.linear_model import ElasticNet as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_'))


class Lasso(ElasticNet):
    """Least squares with an l1 penalty: :class:`ElasticNet` with ``l1_ratio=1``.

    Parameters
    ----------
    alpha, fit_intercept, precompute, copy_X, max_iter, tol, warm_start, positive, random_state, selection
        See :class:`ElasticNet`.
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> from meanwhile import Lasso
    >>> model = Lasso(alpha=0.1).fit([[0.0, 0], [1, 1], [2, 2]], [0.0, 1, 2])
    >>> int((model.coef_ != 0).sum())
    1
    """

    _parameter_constraints = {
        name: value for name, value in ElasticNet._parameter_constraints.items() if name != 'l1_ratio'
    }
    l1_ratio = 1.0

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        precompute=False,
        copy_X=True,
        max_iter=1000,
        tol=1e-4,
        warm_start=False,
        positive=False,
        random_state=None,
        selection='cyclic',
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        keep_parameters(self, locals())

    def to_sklearn(self):
        """:class:`sklearn.linear_model.Lasso` with this estimator's attributes."""
        from sklearn.linear_model import Lasso as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_'))
