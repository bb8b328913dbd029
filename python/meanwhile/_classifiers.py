"""Linear models that tell classes apart."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.extmath import softmax

from ._base import RUN_CONSTRAINTS, keep_parameters, only
from ._linear import NOTHING, LinearClassifier


class LinearSVC(LinearClassifier):
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
        keep_parameters(self, locals())

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
            parameters.update(tol=NOTHING, slope_tol=float(self.tol))
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


class LogisticRegression(LinearClassifier):
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
        keep_parameters(self, locals())

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
            parameters.update(solver='lbfgs', tol=NOTHING, slope_tol=float(self.tol))
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
