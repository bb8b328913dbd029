"""Clustering: :class:`KMeans`."""

import os
import tempfile
import warnings
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _native
from ._base import RUN_CONSTRAINTS, MeanwhileEstimator, checked, keep_parameters, weights_of

_ROWS_AT_ONCE = 1 << 14


def mean_variance(x, weights):
    """The weighted variance of a column, averaged over columns, without a copy of the data."""
    total = float(x.shape[0] if weights is None else weights.sum())
    first = np.zeros(x.shape[1])
    second = np.zeros(x.shape[1])
    shift = None if hasattr(x, 'indptr') else np.asarray(x[0], dtype=np.float64)
    for begin in range(0, x.shape[0], _ROWS_AT_ONCE):
        part = x[begin : begin + _ROWS_AT_ONCE]
        w = np.ones(part.shape[0]) if weights is None else weights[begin : begin + _ROWS_AT_ONCE]
        if shift is None:
            part = part.astype(np.float64)
            first += part.T @ w
            second += part.multiply(part).T @ w
        else:
            part = part - shift
            first += w @ part
            second += np.einsum('i,ij,ij->j', w, part, part)
    return float(np.mean(np.maximum(second / total - (first / total) ** 2, 0)))


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, MeanwhileEstimator):
    """K-means clustering, exact Lloyd's algorithm, with scikit-learn's parameters.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, verbose, random_state, copy_x, algorithm
        As in :class:`sklearn.cluster.KMeans`. ``copy_x`` and both values of ``algorithm`` make no
        difference: data is never changed, and Elkan's result is Lloyd's.
    batch_size : int, default=None
        Rows of a round (mini-batch k-means); None: all rows.
    shards : int, default=None
        Parts that the rows are dealt to; None: by the size of the data.
    workers : int, default=None
        Threads; None: as many as the process may use. No result depends on them.
    deal : {'content', 'blocks'}, default=None
        How rows are dealt to shards; None: content for up to 65,536 rows.
    run_dir : path, default=None
        A run directory to keep, as ``meanwhile train --out`` does.
    callback : callable, default=None
        Called after each round with a dict of its measures; returning True ends training.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_, n_features_in_, feature_names_in_
        As in scikit-learn.
    history_ : dict of arrays
        Measures of each round, by name.
    model_sha256_ : str
        The hash of the model: the same for the command line.

    Examples
    --------
    >>> import numpy as np
    >>> from meanwhile import KMeans
    >>> X = np.array([[1.0, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> km = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> sorted(km.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> bool(km.predict([[0, 0]])[0] == km.labels_[0])
    True
    """

    _learner = 'kmeans'
    _learners = ('kmeans',)

    _parameter_constraints = {
        'n_clusters': [Interval(Integral, 1, None, closed='left')],
        'init': [StrOptions({'k-means++', 'random'}), callable, 'array-like'],
        'n_init': [StrOptions({'auto'}), Interval(Integral, 1, None, closed='left')],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        'tol': [Interval(Real, 0, None, closed='left')],
        'verbose': ['verbose'],
        'random_state': ['random_state'],
        'copy_x': ['boolean'],
        'algorithm': [StrOptions({'lloyd', 'elkan'})],
        'batch_size': [Interval(Integral, 1, None, closed='left'), None],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init='k-means++',
        n_init='auto',
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm='lloyd',
        batch_size=None,
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        keep_parameters(self, locals())

    def _first_centers(self, x, random):
        """The centres that ``init`` gives, where it is no method of the library."""
        centers = self.init
        if callable(centers):
            centers = centers(x, self.n_clusters, random_state=random)
        centers = check_array(centers, dtype=np.float64, order='C')
        if centers.shape[0] != self.n_clusters:
            raise ValueError(
                f'The shape of the initial centers {centers.shape} does not match the number of clusters {self.n_clusters}.'
            )
        if centers.shape[1] != x.shape[1]:
            raise ValueError(
                f'The shape of the initial centers {centers.shape} does not match the number of features of the data {x.shape[1]}.'
            )
        return centers

    def _starts(self):
        if self.n_init != 'auto':
            starts = int(self.n_init)
        else:
            starts = 10 if callable(self.init) or (isinstance(self.init, str) and self.init == 'random') else 1
        given = not isinstance(self.init, str)
        if given and not callable(self.init) and starts != 1:
            warnings.warn(
                'Explicit initial center position passed: performing only one init in '
                f'{type(self).__name__} instead of n_init={starts}.',
                RuntimeWarning,
                stacklevel=3,
            )
            return 1
        return starts

    def native_parameters(self, x, weights=None):
        """The library's parameters for this data, by name: what ``--name`` of the program takes."""
        parameters = {
            'n_clusters': int(self.n_clusters),
            'n_init': self._starts(),
            'max_iter': int(self.max_iter),
            'tol': 0.0,
        }
        if isinstance(self.init, str):
            parameters['init'] = self.init
        if self.batch_size is not None:
            parameters['batch_size'] = int(self.batch_size)
            parameters['tol'] = float(self.tol)
        elif self.tol > 0:
            parameters['shift_tol'] = float(self.tol) * mean_variance(x, weights)
        return parameters

    def fit(self, X, y=None, sample_weight=None):
        """Computes the centres.

        Parameters
        ----------
        X : array-like, sparse matrix or table of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._validate_params()
        X = checked(self, X, reset=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f'n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.')
        weights = weights_of(sample_weight, X)
        parameters = self.native_parameters(X, weights)
        rows = self._rows(X, weights=weights)
        seed = self._seed()
        train = self._train if isinstance(self.init, str) else partial(self._train_from_centers, X)
        try:
            train(rows, parameters, seed=seed)
        except _native.UsageError as error:
            # Fewer distinct rows than clusters: equal rows are one row when they are dealt by
            # content. Dealt in blocks they are several, and leave clusters empty.
            if self.deal is not None or 'n_clusters' not in str(error):
                raise
            train(rows, parameters, seed=seed, deal='blocks')
        self.n_iter_ = max(1, self._rounds_of_best())
        self._take_model(X.dtype)
        self.labels_ = self.model_.predict(rows, self._threads()).astype(np.int32)
        self.inertia_ = float(self.run_['objective'])
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f'Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). '
                'Possibly due to duplicate points in X.',
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _train_from_centers(self, x, rows, parameters, *, seed, deal=None):
        """Centres travel to the library in a file, as the command line has them. A callable is
        asked for as many as there are starts; the lowest inertia wins."""
        random = np.random.RandomState(seed % 2**32)
        best = None
        for _ in range(parameters['n_init']):
            with tempfile.TemporaryDirectory(prefix='meanwhile-') as folder:
                path = os.path.join(folder, 'centers.npy')
                np.save(path, self._first_centers(x, random))
                result = self._train(rows, {**parameters, 'n_init': 1, 'init': path}, seed=seed, deal=deal)
            if best is None or result.record['objective'] < best.record['objective']:
                best = result
        self._take_run(best)

    def _rounds_of_best(self):
        return int(self.run_.get('rounds', self.model_.rounds))

    def _take_model(self, dtype):
        centers = np.array(self.model_.tensors()['centers'])
        self.cluster_centers_ = centers.astype(dtype, copy=False)
        self._n_features_out = len(centers)

    def predict(self, X):
        """The nearest centre of each row, as int32."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        return self.model_.predict(self._rows(X), self._threads()).astype(np.int32)

    def fit_predict(self, X, y=None, sample_weight=None):
        """:meth:`fit`, and the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X):
        """The distance of each row to each centre."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        return self.model_.transform(self._rows(X), self._threads()).astype(X.dtype, copy=False)

    def fit_transform(self, X, y=None, sample_weight=None):
        """:meth:`fit`, and the distances of the rows to the centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X, y=None, sample_weight=None):
        """The inertia of these rows, negated."""
        check_is_fitted(self)
        X = checked(self, X, reset=False)
        rows = self._rows(X, weights=weights_of(sample_weight, X))
        return -float(self.model_.evaluate(rows, self._threads())['inertia'])

    def to_sklearn(self):
        """:class:`sklearn.cluster.KMeans` with this estimator's attributes."""
        from sklearn.cluster import KMeans as Other

        other = self._to_sklearn(Other, ('cluster_centers_', 'labels_', 'inertia_', '_n_features_out'))
        other._n_threads = 1
        return other

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ['float64', 'float32']
        return tags
