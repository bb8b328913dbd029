"""The common part of linear models."""

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel, SparseCoefMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ._base import MeanwhileEstimator, checked, only, weights_of

# Rounds that bring nothing end L-BFGS, whatever the slopes are: differences below this part of the
# objective are rounding.
NOTHING = 1e-15


def total_weight(weights, n):
    return float(n if weights is None else weights.sum())


class LinearEstimator(MeanwhileEstimator):
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


class LinearClassifier(LinearClassifierMixin, SparseCoefMixin, LinearEstimator):
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
        parameters = self.native_parameters(total_weight(weights, len(y)), len(classes))
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


class LinearRegressor(RegressorMixin, LinearEstimator, LinearModel):
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
            parameters = self.native_parameters(total_weight(weights, len(labels)))
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
