"""What all estimators share: reading what a user has, a run of the library, files, pickles.

An estimator translates scikit-learn's parameters into the library's, calls ``_native.train`` and
sets scikit-learn's attributes from the model. Nothing is learned in Python.
"""

import numbers
import os
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _card, _data, _native
from ._runs import history_of

# Up to so many rows the model does not depend on their order, and a weight of 2 is the row twice.
_SMALL_ROWS = 65_536

# Keywords of every estimator beside scikit-learn's, with what they may be.
RUN_CONSTRAINTS = {
    'shards': [Interval(numbers.Integral, 1, None, closed='left'), None],
    'workers': [Interval(numbers.Integral, 1, None, closed='left'), None],
    'deal': [str, None],
    'run_dir': [str, os.PathLike, None],
    'callback': [callable, None],
}


def only(estimator, **allowed):
    """Refuses values of parameters that the library has nothing for.

    ``allowed``: for each parameter the values that are taken.
    """
    for name, values in allowed.items():
        value = getattr(estimator, name)
        if any(value is one or (type(value) is type(one) and value == one) for one in values):
            continue
        # 1 and 1.0 are the same parameter.
        if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
            if any(isinstance(one, numbers.Real) and not isinstance(one, bool) and value == one for one in values):
                continue
        taken = ', '.join(repr(one) for one in values)
        raise ValueError(
            f'{type(estimator).__name__}: {name}={value!r} is not supported; meanwhile takes {name}={taken}'
        )


def _first_bad(x):
    """Row and column of the first value of a matrix that is NaN or infinite, or None."""
    data = getattr(x, 'data', None)
    if hasattr(x, 'indptr'):
        bad = np.flatnonzero(~np.isfinite(data))
        if bad.size == 0:
            return None
        outer = int(np.searchsorted(x.indptr, bad[0], side='right')) - 1
        inner = int(x.indices[bad[0]])
        return (outer, inner) if x.format == 'csr' else (inner, outer)
    x = np.asarray(x)
    if x.ndim != 2 or x.dtype.kind != 'f':
        return None
    for begin in range(0, len(x), 4096):
        bad = np.argwhere(~np.isfinite(x[begin : begin + 4096]))
        if bad.size:
            return begin + int(bad[0][0]), int(bad[0][1])
    return None


def checked(estimator, x, y='no_validation', *, reset, **options):
    """scikit-learn's checks with scikit-learn's words, and the place of the first bad value."""
    options = {'accept_sparse': 'csr', 'dtype': [np.float64, np.float32], 'order': 'C', **options}
    if isinstance(y, str):
        options.pop('y_numeric', None)
    else:
        options['y'] = y
    try:
        return validate_data(estimator, x, reset=reset, **options)
    except ValueError as error:
        text = str(error)
        place = None
        if 'NaN' in text or 'infinity' in text:
            try:
                place = _first_bad(x)
            except (TypeError, ValueError):  # words, or objects without numbers
                place = None
        if place is None:
            raise
        raise ValueError(f'{text}\nThe first such value of X is in row {place[0]}, column {place[1]}.') from error


def weights_of(sample_weight, x):
    """Sample weights as float64, or None where every row weighs 1."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, x, dtype=np.float64, ensure_non_negative=True)
    if not np.any(weights):
        raise ValueError('Sample weights must contain at least one non-zero number.')
    return np.ascontiguousarray(weights)


def keep_parameters(estimator, values):
    """Sets an attribute for each parameter, unchanged, as scikit-learn's ``get_params`` and ``clone`` want it.

    ``values``: ``locals()`` of a constructor. Its signature names all parameters, also those that its base
    has: scikit-learn reads them there.
    """
    for name, value in values.items():
        if name != 'self':
            setattr(estimator, name, value)


class MeanwhileEstimator(BaseEstimator):
    """The part of an estimator that knows the library; comes after scikit-learn's mixins."""

    # The learner's name in the library; linear models say it for each fit.
    _learner = ''

    # --- rows and runs

    def _rows(self, x, labels=None, weights=None, class_names=()):
        return _data.rows(
            x, labels=labels, weights=weights, class_names=class_names, feature_names=self._names_of_columns()
        )

    def _names_of_columns(self):
        return tuple(getattr(self, 'feature_names_in_', ()))

    def _threads(self):
        """Threads of a call: those asked for, else those that joblib and threadpoolctl leave."""
        if self.workers is not None:
            return int(self.workers)
        jobs = getattr(self, 'n_jobs', None)
        return _openmp_effective_n_threads(jobs, only_physical_cores=False)

    def _seed(self, default=None):
        """``default``: the seed where random_state is None; None: drawn from numpy's global state."""
        state = getattr(self, 'random_state', None)
        if state is None and default is not None:
            return default
        if isinstance(state, numbers.Integral):
            return int(state)
        return int(check_random_state(state).randint(np.iinfo(np.int32).max))

    def _train(self, rows, parameters, *, seed, start=None, deal=None, keep=True):
        """Trains, and returns the model; sets what a run leaves behind. ``keep``: in run_dir."""
        callback = self.callback
        verbose = getattr(self, 'verbose', 0)

        def report(line):
            if verbose and 'round' in line:
                objective = line.get('objective')
                print(f'[{type(self).__name__}] round {line["round"]}: objective {objective}')
            return callback(line) if callback is not None else None

        result = _native.train(
            self._learner,
            rows,
            parameters,
            seed=seed,
            shards=self.shards,
            threads=self._threads(),
            deal=deal or self.deal or ('content' if rows.shape[0] <= _SMALL_ROWS else None),
            start=start,
            run_dir=self.run_dir if keep else None,
            callback=report if callback is not None or verbose else None,
        )
        self._take_run(result)
        return result

    def _take_run(self, result):
        self.model_ = result.model
        self.model_sha256_ = result.model.sha256
        self.history_ = history_of(result.history)
        self.run_ = {name: value for name, value in result.record.items() if name != 'command'}
        self.converged_ = result.converged

    def _warn_unless_converged(self, hint):
        if self.converged_:
            return
        ended = self.model_.ended or 'training was stopped early'
        warnings.warn(f'{type(self).__name__} did not converge: {ended}. {hint}', ConvergenceWarning, stacklevel=3)

    # --- files and pickles

    def save(self, path):
        """Writes the model where the command line finds it.

        ``path`` ending in ``.safetensors``: a model file; else a run directory, which ``meanwhile
        predict``, ``inspect`` and ``train --resume`` take.
        """
        check_is_fitted(self)
        self._one_model().save(path)
        return self

    @classmethod
    def load(cls, path, **parameters):
        """An estimator from what :meth:`save` or the command line wrote.

        Parameters that a model does not tell, such as ``C``, are those given, or the defaults.
        """
        return cls.from_model(_native.load_model(path), **parameters)

    @classmethod
    def from_model(cls, model, **parameters):
        """An estimator from a model of the library, ready to predict."""
        estimator = cls(**parameters)
        if model.learner not in cls._learners:
            raise ValueError(f'{cls.__name__} takes models of {", ".join(cls._learners)}; this is one of {model.learner}')
        estimator.model_ = model
        estimator.model_sha256_ = model.sha256
        estimator.history_ = {}
        estimator.n_features_in_ = model.n_columns
        if model.feature_names:
            estimator.feature_names_in_ = np.asarray(model.feature_names, dtype=object)
        estimator.n_iter_ = max(1, model.rounds)
        estimator._take_model(np.float64)
        return estimator

    def _one_model(self):
        return self.model_

    def __getstate__(self):
        state = dict(super().__getstate__())
        for name in ('model_', 'models_'):
            if name in state:
                value = state[name]
                many = isinstance(value, list)
                state[name] = [one.to_bytes() for one in value] if many else value.to_bytes()
        return state

    def __setstate__(self, state):
        state = dict(state)
        for name in ('model_', 'models_'):
            if name in state:
                value = state[name]
                many = isinstance(value, list)
                read = _native.Model.from_bytes
                state[name] = [read(one) for one in value] if many else read(value)
        super().__setstate__(state)

    # --- scikit-learn's own estimator

    def _sklearn_parameters(self, cls):
        """Parameters that scikit-learn's class has, too."""
        names = cls().get_params(deep=False)
        return {name: value for name, value in self.get_params(deep=False).items() if name in names}

    def _to_sklearn(self, cls, attributes):
        """An estimator of ``cls`` with these attributes of this one."""
        check_is_fitted(self)
        other = cls(**self._sklearn_parameters(cls))
        for name in (*attributes, 'n_features_in_', 'feature_names_in_', 'n_iter_'):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        return other

    # --- notebooks

    def _html_repr(self):
        return _card.card(self) + super()._html_repr()
