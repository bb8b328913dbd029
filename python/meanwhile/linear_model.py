"""Linear models: :class:`LinearSVC`, :class:`LogisticRegression`, :class:`Ridge`, :class:`Lasso`,
:class:`ElasticNet` and :class:`HuberRegressor`.

The library minimises (1 / W) sum of weight_i loss_i + l1 |w| + l2 / 2 w^2, where W is the sum of the
weights; each class here says what its scikit-learn parameters are in these terms.
"""

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel, SparseCoefMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import softmax
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ._base import RUN_CONSTRAINTS, MeanwhileEstimator, checked, only, weights_of

# Rounds that bring nothing end L-BFGS, whatever the slopes are: differences below this part of the
# objective are rounding.
_NOTHING = 1e-15


def _total(weights, n):
    return float(n if weights is None else weights.sum())


class _Linear(MeanwhileEstimator):
    """What classifiers and regressors share."""

    def _weights_and_intercepts(self, dtype):
        """Arrays of (outputs, columns) and (outputs,)."""
        tensors = self.model_.tensors()
        coef = np.ascontiguousarray(tensors['weights'].T).astype(dtype, copy=False)
        return coef, np.array(tensors['intercept']).astype(dtype, copy=False)

    def _start(self):
        return self.model_ if getattr(self, 'warm_start', False) and hasattr(self, 'model_') else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Classifier(_Linear):
    def _fit(self, X, y, sample_weight):
        X, y = checked(self, X, y, reset=True)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        weights = weights_of(sample_weight, X)
        if weights is not None and not weights.all():
            # A weight of 0 is a row that is not there: it may be the last one of its class.
            there = weights > 0
            if len(np.unique(y[there])) < len(np.unique(y)):
                X, y, weights = X[there], y[there], weights[there]
        classes, numbers = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f'{type(self).__name__} needs samples of at least 2 classes in the data, but the data '
                f'contains only one class: {classes[0]!r}'
            )
        weights = self._times_class_weights(classes, numbers, weights)
        # Numbers stay what they are, so that the command line predicts them; the rest are words.
        plain = classes.dtype.kind in 'iuf' and np.array_equal(
            classes.astype(np.float64).astype(classes.dtype), classes
        )
        labels = (y if plain else numbers).astype(np.float64)
        names = () if plain else tuple(str(one) for one in classes)
        self.classes_ = classes
        parameters = self.native_parameters(_total(weights, len(y)), len(classes))
        rows = self._rows(X, labels=labels, weights=weights, class_names=names)
        self._train(rows, parameters, seed=self._seed(default=0), start=self._start())
        self._take_model(X.dtype)
        self._warn_unless_converged('Scaled columns, or a larger max_iter, may help.')
        return self

    def _times_class_weights(self, classes, numbers, weights):
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            counts = np.bincount(numbers, weights=weights, minlength=len(classes))
            each = counts.sum() / (len(classes) * counts)
        else:
            known = classes.tolist()
            unknown = [one for one in self.class_weight if one not in known]
            if unknown:
                raise ValueError(f'The classes, {unknown}, are not in y: class_weight names them')
            each = np.array([float(self.class_weight.get(one, 1.0)) for one in known])
            if not (each > 0).all():
                raise ValueError(f'class_weight={self.class_weight!r}: weights of classes must be above 0')
        return each[numbers] if weights is None else each[numbers] * weights

    def _take_model(self, dtype):
        self.coef_, self.intercept_ = self._weights_and_intercepts(dtype)
        self._count_rounds()
        if hasattr(self, 'classes_'):
            return
        names = self.model_.classes  # of a model from a file
        try:
            values = np.array([float(one) for one in names])
            self.classes_ = values.astype(np.int64) if np.array_equal(values, np.round(values)) else values
        except ValueError:
            self.classes_ = np.array(names)


class LinearSVC(LinearClassifierMixin, SparseCoefMixin, _Classifier, BaseEstimator):
    """Linear support vector classification: one class against the rest.

    Minimised is ``1/2 |w|^2 + 1/2 (b / intercept_scaling)^2 + C sum of weight_i loss_i``, as
    liblinear does: the intercept is penalised.

    Parameters
    ----------
    penalty : {'l2', 'l1'}, default='l2'
        ``l1`` goes with ``fit_intercept=False``: liblinear penalises the intercept by l1, too, and
        the library does not.
    loss : {'squared_hinge', 'hinge'}, default='squared_hinge'
    dual : {'auto', True, False}, default='auto'
        Makes no difference: the minimum is the same.
    tol : float, default=1e-4
        Largest slope of the objective, divided by ``C * sum of weights``, at which training stops;
        a tenth of it with ``loss='hinge'``.
    C, multi_class, fit_intercept, intercept_scaling, class_weight, verbose, random_state, max_iter
        As in :class:`sklearn.svm.LinearSVC`. ``multi_class`` is ``'ovr'``. ``random_state=None`` is
        seed 0.
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> from meanwhile import LinearSVC
    >>> clf = LinearSVC().fit([[-1, 0], [-2, 1], [1, 0], [2, 1]], ['a', 'a', 'b', 'b'])
    >>> clf.predict([[-1, 1], [1, 1]]).tolist()
    ['a', 'b']
    """

    _learner = 'svm'
    _learners = ('svm',)

    _parameter_constraints = {
        'penalty': [StrOptions({'l1', 'l2'})],
        'loss': [StrOptions({'hinge', 'squared_hinge'})],
        'dual': ['boolean', StrOptions({'auto'})],
        'tol': [Interval(Real, 0, None, closed='neither')],
        'C': [Interval(Real, 0, None, closed='neither')],
        'multi_class': [StrOptions({'ovr', 'crammer_singer'})],
        'fit_intercept': ['boolean'],
        'intercept_scaling': [Interval(Real, 0, None, closed='neither')],
        'class_weight': [None, dict, StrOptions({'balanced'})],
        'verbose': ['verbose'],
        'random_state': ['random_state'],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        penalty='l2',
        loss='squared_hinge',
        *,
        dual='auto',
        tol=1e-4,
        C=1.0,
        multi_class='ovr',
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

    def native_parameters(self, total, classes=2):
        """The library's parameters where weights sum to ``total``."""
        only(self, multi_class=['ovr'])
        strength = 1 / (self.C * total)
        parameters = {
            'loss': self.loss,
            'l1': 0.0,
            'l2': strength,
            'solver': 'lbfgs',
            'fit_intercept': bool(self.fit_intercept),
            'max_iter': int(self.max_iter),
        }
        if self.loss == 'hinge':  # its corner is rounded less and less
            parameters.update(tol=min(1.0, self.tol / 1000), slope_tol=self.tol / 10, history=50)
        else:
            parameters.update(tol=_NOTHING, slope_tol=float(self.tol))
        if self.penalty == 'l1':
            if self.fit_intercept:
                raise ValueError("LinearSVC: penalty='l1' goes with fit_intercept=False")
            parameters.update(l1=strength, l2=0.0)
        elif self.fit_intercept:
            parameters['l2_intercept'] = strength / self.intercept_scaling**2
        return parameters

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their classes."""
        self._validate_params()
        return self._fit(X, y, sample_weight)

    def _count_rounds(self):
        self.n_iter_ = max(1, self.model_.rounds)

    def to_sklearn(self):
        """:class:`sklearn.svm.LinearSVC` with this estimator's attributes."""
        from sklearn.svm import LinearSVC as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_', 'classes_'))


class LogisticRegression(LinearClassifierMixin, SparseCoefMixin, _Classifier, BaseEstimator):
    """Logistic regression; softmax for more than two classes.

    Minimised is ``C sum of weight_i loss_i + l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2``; the
    intercept is not penalised.

    Parameters
    ----------
    penalty, C, l1_ratio, tol, fit_intercept, class_weight, random_state, max_iter, verbose, warm_start
        As in :class:`sklearn.linear_model.LogisticRegression`. ``random_state=None`` is seed 0.
    solver : {'lbfgs'}, default='lbfgs'
        Takes any ``l1_ratio``: with two classes and ``l1_ratio > 0`` working sets end with a proof,
        else OWL-QN is used.
    dual : False
    intercept_scaling : 1
    n_jobs : int, default=None
        Threads, where ``workers`` is None.
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> from meanwhile import LogisticRegression
    >>> clf = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> clf.predict([[0.5], [2.5]]).tolist()
    [0, 1]
    >>> clf.predict_proba([[1.5]]).round(3).tolist()
    [[0.5, 0.5]]
    """

    _learner = 'logistic'
    _learners = ('logistic',)

    _parameter_constraints = {
        'penalty': [StrOptions({'l1', 'l2', 'elasticnet', 'deprecated'}), None],
        'C': [Interval(Real, 0, None, closed='right')],
        'l1_ratio': [Interval(Real, 0, 1, closed='both')],
        'dual': ['boolean'],
        'tol': [Interval(Real, 0, None, closed='left')],
        'fit_intercept': ['boolean'],
        'intercept_scaling': [Interval(Real, 0, None, closed='neither')],
        'class_weight': [dict, StrOptions({'balanced'}), None],
        'random_state': ['random_state'],
        'solver': [StrOptions({'lbfgs', 'liblinear', 'newton-cg', 'newton-cholesky', 'sag', 'saga'})],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        'verbose': ['verbose'],
        'warm_start': ['boolean'],
        'n_jobs': [None, Integral],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        penalty='deprecated',
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver='lbfgs',
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

    def _ratio(self):
        """The share of l1, and whether there is a penalty at all."""
        if self.penalty == 'deprecated':
            return float(self.l1_ratio), True
        if self.penalty is None:
            return 0.0, False
        shares = {'l1': 1.0, 'l2': 0.0, 'elasticnet': float(self.l1_ratio)}
        share = shares[self.penalty]
        if self.l1_ratio not in (0, share):
            raise ValueError(f'LogisticRegression: penalty={self.penalty!r} contradicts l1_ratio={self.l1_ratio!r}')
        return share, True

    def native_parameters(self, total, classes=2):
        """The library's parameters where weights sum to ``total``."""
        only(self, dual=[False], intercept_scaling=[1], solver=['lbfgs'])
        share, penalised = self._ratio()
        strength = 1 / (self.C * total) if penalised and not np.isinf(self.C) else 0.0
        parameters = {
            'l1': share * strength,
            'l2': (1 - share) * strength,
            'fit_intercept': bool(self.fit_intercept),
            'max_iter': int(self.max_iter),
        }
        if parameters['l1'] > 0 and classes == 2:
            parameters.update(solver='working-set', tol=min(1.0, float(self.tol)))
        else:
            parameters.update(solver='lbfgs', tol=_NOTHING, slope_tol=float(self.tol))
        return parameters

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their classes."""
        self._validate_params()
        return self._fit(X, y, sample_weight)

    def _count_rounds(self):
        self.n_iter_ = np.array([max(1, self.model_.rounds)], dtype=np.int32)

    def predict_proba(self, X):
        """The probability of each class for each row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            # The logistic function as softmax has it: no overflow, and columns that add up to 1.
            return softmax(np.column_stack([np.zeros_like(scores), scores]), copy=False)
        return softmax(scores, copy=False)

    def predict_log_proba(self, X):
        """The logarithm of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def to_sklearn(self):
        """:class:`sklearn.linear_model.LogisticRegression` with this estimator's attributes."""
        from sklearn.linear_model import LogisticRegression as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_', 'classes_'))


class _Regressor(_Linear):
    _learner = 'linear'
    _learners = ('linear',)

    def _read(self, X, y, sample_weight, multi_output):
        X, y = checked(self, X, y, reset=True, y_numeric=True, multi_output=multi_output)
        y = np.asarray(y, dtype=np.float64)
        return X, y, weights_of(sample_weight, X)

    def _fit_targets(self, X, y, weights):
        """A model for each target, one after the other. ``y``: one target, or a column for each."""
        results = []
        for k in range(1 if y.ndim == 1 else y.shape[1]):
            labels = np.ascontiguousarray(y if y.ndim == 1 else y[:, k])
            parameters = self.native_parameters(_total(weights, len(labels)))
            rows = self._rows(X, labels=labels, weights=weights)
            results.append(self._train(rows, parameters, seed=self._seed(default=0), start=self._start()))
        self._take_models([result.model for result in results], X.dtype, single=y.ndim == 1)
        self.converged_ = all(result.converged for result in results)
        self._warn_unless_converged('Scaled columns, or a larger max_iter, may help.')

    def _take_models(self, models, dtype, single):
        coefs, intercepts = [], []
        for model in models:
            self.model_ = model
            coef, intercept = self._weights_and_intercepts(dtype)
            coefs.append(coef[0])
            intercepts.append(intercept[0])
        if not single:
            self.models_ = models
        elif hasattr(self, 'models_'):
            del self.models_
        self.coef_ = coefs[0] if single else np.stack(coefs)
        self.intercept_ = (intercepts[0] if single else np.array(intercepts)) if self.fit_intercept else 0.0
        rounds = [max(1, model.rounds) for model in models]
        self.n_iter_ = rounds[0] if single else rounds

    def _take_model(self, dtype):
        self._take_models([self.model_], dtype, single=True)

    def _one_model(self):
        if hasattr(self, 'models_'):
            raise ValueError(
                f'{type(self).__name__} was fitted to {len(self.models_)} targets, and a file holds the '
                'model of one: save those in models_ one by one'
            )
        return self.model_


class Ridge(MultiOutputMixin, RegressorMixin, _Regressor, LinearModel):
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
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

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
            'tol': _NOTHING,
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


class ElasticNet(MultiOutputMixin, RegressorMixin, _Regressor, LinearModel):
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
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

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
            parameters.update(solver='lbfgs', tol=_NOTHING, history=50)
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
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

    def to_sklearn(self):
        """:class:`sklearn.linear_model.Lasso` with this estimator's attributes."""
        from sklearn.linear_model import Lasso as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_'))


# The objective is flat in the scale: what this hides is its square.
_SCALE_TOL = 1e-6
_MOST_SCALES = 30


def _rounded(scale):
    """To digits that do not depend on the order in which residuals were added: so weight 2 is the row
    twice, bit for bit. The objective does not see the others."""
    return float(f'{scale:.8g}')


def _huber_scale(residual, weights, epsilon):
    """The scale that is best for these residuals: sum of weight_i min(r_i^2 / sigma^2, epsilon^2) is the sum
    of the weights. 0 where none is above 0."""
    squares = residual**2
    weights = np.ones_like(squares) if weights is None else weights
    total = weights.sum()
    # The sum is concave in 1 / sigma^2: Newton's steps from below never pass the root.
    scale = float(np.sqrt(weights @ squares / total))
    while scale > 0:
        inside = squares <= (epsilon * scale) ** 2
        rest = total - epsilon**2 * weights[~inside].sum()
        if rest <= 0:
            return scale
        following = float(np.sqrt(weights[inside] @ squares[inside] / rest))
        if following >= scale * (1 - 1e-14):
            return following
        scale = following
    return 0.0


class HuberRegressor(RegressorMixin, _Regressor, LinearModel):
    """Robust regression with Huber's loss, whose scale is learned, too.

    Minimised over ``w``, ``b`` and ``sigma`` is ``sum of weight_i (sigma + H(r_i / sigma) sigma) + alpha
    |w|^2``, with ``H(z) = z^2`` where ``|z| < epsilon``, else ``2 epsilon |z| - epsilon^2``. The library
    minimises over ``w`` and ``b`` for a given scale; the scale is found outside, by a few such fits, each
    from the model of the one before. The last fit begins afresh, so that the model is that of
    ``native_parameters`` at ``scale_``.

    Parameters
    ----------
    epsilon, max_iter, alpha, fit_intercept, tol
        As in :class:`sklearn.linear_model.HuberRegressor`. Each of the fits may take
        ten times ``max_iter`` rounds.
    warm_start : bool, default=False
        Begin the search from the model and scale that are there.
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`. ``run_dir`` keeps the last fit; ``callback`` sees all.

    Examples
    --------
    >>> from meanwhile import HuberRegressor
    >>> X = [[float(i)] for i in range(40)]
    >>> y = [2.0 * i + 0.1 * (-1) ** i for i in range(39)] + [500.0]
    >>> model = HuberRegressor(alpha=0).fit(X, y)
    >>> round(float(model.coef_[0]), 1), bool(model.outliers_[-1])
    (2.0, True)
    """

    _parameter_constraints = {
        'epsilon': [Interval(Real, 1.0, None, closed='left')],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        'alpha': [Interval(Real, 0, None, closed='left')],
        'warm_start': ['boolean'],
        'fit_intercept': ['boolean'],
        'tol': [Interval(Real, 0.0, None, closed='left')],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        *,
        epsilon=1.35,
        max_iter=100,
        alpha=0.0001,
        warm_start=False,
        fit_intercept=True,
        tol=1e-05,
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.shards = shards
        self.workers = workers
        self.deal = deal
        self.run_dir = run_dir
        self.callback = callback

    def native_parameters(self, total, scale=None):
        """The library's parameters where weights sum to ``total``, at this scale (default:
        ``scale_``)."""
        scale = float(self.scale_ if scale is None else scale)
        return {
            'loss': 'huber',
            'huber_delta': self.epsilon * scale,
            'l1': 0.0,
            'l2': self.alpha * scale / total,
            'solver': 'lbfgs',
            'fit_intercept': bool(self.fit_intercept),
            # Fits for a given scale, from the beginning: more than one for all at once.
            'max_iter': 10 * int(self.max_iter),
            'tol': _NOTHING,
            'slope_tol': self.tol * scale / (2 * total),
        }

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their numbers."""
        self._validate_params()
        X, y, weights = self._read(X, y, sample_weight, multi_output=False)
        total = _total(weights, len(y))
        rows = self._rows(X, labels=y, weights=weights)

        def train(parameters, start=None, keep=False):
            self._train(rows, parameters, seed=0, start=start, keep=keep)
            return np.abs(y - self.model_.predict(rows, self._threads()))

        if self.warm_start and hasattr(self, 'model_'):
            residual = np.abs(y - self.model_.predict(rows, self._threads()))
        else:
            squares = {**self.native_parameters(total, 1.0), 'loss': 'squared'}
            del squares['huber_delta']
            residual = train(squares)
        # Residuals of a perfect fit are rounding: there is no scale to be found.
        least = max(10 * np.finfo(np.float64).eps, 1e-10 * float(np.max(np.abs(y), initial=0.0)))

        def best_scale(residual):
            return _rounded(max(least, _huber_scale(residual, weights, self.epsilon)))

        # The scale that is best for the model that is best for a scale. The objective is convex in the
        # scale: where a better one is lower, so is the best. Secants in the logarithm, kept between
        # the scales that are known to be too low and too high.
        scale, before, low, high = best_scale(residual), None, -np.inf, np.inf
        for _ in range(_MOST_SCALES):
            self.scale_ = scale
            if scale <= least:
                break
            residual = train(self.native_parameters(total, scale), start=self.model_ if before else None)
            at, step = np.log(scale), np.log(best_scale(residual) / scale)
            if abs(step) < _SCALE_TOL:
                break
            low, high = (max(low, at), high) if step > 0 else (low, min(high, at))
            following = at + step
            if before is not None and before[1] != step:
                secant = step * (at - before[0]) / (before[1] - step)
                if 0 < secant / step < 3:  # far off the root the curve bends
                    following = at + secant
            if not low < following < high:
                following = (low + high) / 2 if np.isfinite(low + high) else at + step
            before = at, step
            scale = _rounded(max(least, float(np.exp(following))))
        residual = train(self.native_parameters(total), keep=True)
        self._take_model(X.dtype)
        self.outliers_ = residual > self.scale_ * self.epsilon
        self._warn_unless_converged('Scaled columns, or a larger max_iter, may help.')
        return self

    def to_sklearn(self):
        """:class:`sklearn.linear_model.HuberRegressor` with this estimator's attributes."""
        from sklearn.linear_model import HuberRegressor as Other

        return self._to_sklearn(Other, ('coef_', 'intercept_', 'scale_', 'outliers_'))
