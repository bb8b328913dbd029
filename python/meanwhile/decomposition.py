"""Topics: :class:`LatentDirichletAllocation`."""

from numbers import Integral, Real

import numpy as np
from scipy.special import psi
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ._base import RUN_CONSTRAINTS, MeanwhileEstimator, checked, keep_parameters, only

# The largest batch there is: one round a pass, however many documents there are.
_ALL = 2**40


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MeanwhileEstimator):
    """Topics of documents, by variational inference.

    Parameters
    ----------
    n_components, doc_topic_prior, topic_word_prior, learning_method, learning_decay, learning_offset
        As in :class:`sklearn.decomposition.LatentDirichletAllocation`.
    max_iter, batch_size, total_samples, mean_change_tol, max_doc_update_iter, verbose, random_state
        The same. Where batches do not divide the documents they differ by one in size.
    evaluate_every : int, default=-1
        -1 or 0: ``history_`` has the perplexity of every round anyway.
    perp_tol : 0.1
        Goes with ``evaluate_every``.
    n_jobs : int, default=None
        Threads, where ``workers`` is None.
    init : {'documents', 'random'}, default='documents'
        First topics: documents of a sample, those that stand for most others; or random numbers, as
        scikit-learn has them.
    shards, workers, deal, run_dir, callback
        See :class:`KMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from meanwhile import LatentDirichletAllocation
    >>> X = np.array([[4, 3, 0, 0], [5, 2, 0, 0], [0, 0, 3, 4], [0, 0, 2, 6]])
    >>> lda = LatentDirichletAllocation(n_components=2, random_state=0).fit(X)
    >>> topics = lda.transform(X).argmax(axis=1)
    >>> bool(topics[0] == topics[1] != topics[2] == topics[3])
    True
    """

    _learner = 'lda'
    _learners = ('lda',)

    _parameter_constraints = {
        'n_components': [Interval(Integral, 1, None, closed='left')],
        'doc_topic_prior': [None, Interval(Real, 0, None, closed='neither')],
        'topic_word_prior': [None, Interval(Real, 0, None, closed='neither')],
        'learning_method': [StrOptions({'batch', 'online'})],
        'learning_decay': [Interval(Real, 0, 1, closed='both')],
        'learning_offset': [Interval(Real, 0.0, None, closed='left')],
        'max_iter': [Interval(Integral, 1, None, closed='left')],
        'batch_size': [Interval(Integral, 1, None, closed='left')],
        'evaluate_every': [Interval(Integral, None, None, closed='neither')],
        'total_samples': [Interval(Real, 0, None, closed='neither')],
        'perp_tol': [Interval(Real, 0, None, closed='left')],
        'mean_change_tol': [Interval(Real, 0, None, closed='left')],
        'max_doc_update_iter': [Interval(Integral, 1, None, closed='left')],
        'n_jobs': [None, Integral],
        'verbose': ['verbose'],
        'random_state': ['random_state'],
        'init': [StrOptions({'documents', 'random'})],
        **RUN_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_method='batch',
        learning_decay=0.7,
        learning_offset=10.0,
        max_iter=10,
        batch_size=128,
        evaluate_every=-1,
        total_samples=1e6,
        perp_tol=1e-1,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        n_jobs=None,
        verbose=0,
        random_state=None,
        init='documents',
        shards=None,
        workers=None,
        deal=None,
        run_dir=None,
        callback=None,
    ):
        keep_parameters(self, locals())

    def native_parameters(self):
        """The library's parameters for :meth:`fit`."""
        only(self, evaluate_every=[-1, 0], perp_tol=[0.1])
        parameters = {
            'n_topics': int(self.n_components),
            'passes': int(self.max_iter),
            'tol': 0.0,
            'send': 'gradient',
            'step_by': 'rounds',
            'learn_alpha': False,
            'alpha': float(self.doc_topic_prior or 0),
            'eta': float(self.topic_word_prior or 0),
            'init': self.init,
            'inference_max_iter': int(self.max_doc_update_iter),
            # The least change that can be asked for: 0 would mean inference_tol.
            'inference_change': max(float(self.mean_change_tol), 1e-12),
            'precision': 'single' if self.mean_change_tol >= 1e-4 else 'double',
        }
        if self.learning_method == 'batch':
            return {**parameters, 'kappa': 0.0, 'batch_size': _ALL}
        return {
            **parameters,
            'kappa': float(self.learning_decay),
            'tau0': float(self.learning_offset + 1),
            'batch_size': int(self.batch_size),
        }

    def _checked_counts(self, X, whom, reset):
        dtype = [np.float64, np.float32] if reset else self.components_.dtype
        X = checked(self, X, reset=reset, dtype=dtype)
        check_non_negative(X, whom)
        return X

    def fit(self, X, y=None):
        """Learns topics from the counts of words (columns) in documents (rows)."""
        self._validate_params()
        X = self._checked_counts(X, 'LatentDirichletAllocation.fit', reset=True)
        self._train(self._rows(X), self.native_parameters(), seed=self._seed())
        self.n_batch_iter_ = 1 + self.model_.rounds
        self.n_iter_ = int(self.max_iter)
        self._take_model(X.dtype)
        return self

    def partial_fit(self, X, y=None):
        """Goes on with the topics that were learned, by a step for each ``batch_size`` of these
        documents, which stand for ``total_samples``."""
        self._validate_params()
        start = getattr(self, 'model_', None)
        X = self._checked_counts(X, 'LatentDirichletAllocation.partial_fit', reset=start is None)
        self.n_iter_ = getattr(self, 'n_iter_', 0)
        for batch in gen_batches(X.shape[0], int(self.batch_size)):
            batches = getattr(self, 'n_batch_iter_', 1) if start is not None else 1
            parameters = {
                **self.native_parameters(),
                'kappa': float(self.learning_decay),
                'tau0': float(self.learning_offset + batches),
                'passes': 1,
                'total_documents': float(self.total_samples),
            }
            if start is not None:  # the library keeps the size of batches: all of these fit into one
                parameters['batch_size'] = start.parameters['batch_size']
            self._train(self._rows(X[batch]), parameters, seed=self._seed(), start=start)
            start = self.model_
            self.n_batch_iter_ = batches + 1
        self._take_model(X.dtype)
        return self

    def _take_model(self, dtype):
        model = self.model_
        self.components_ = np.ascontiguousarray(model.tensors()['lambda'].T).astype(dtype, copy=False)
        self.doc_topic_prior_ = self._prior(self.doc_topic_prior)
        self.topic_word_prior_ = self._prior(self.topic_word_prior)
        if not hasattr(self, 'n_batch_iter_'):
            self.n_batch_iter_ = 1 + model.rounds

    def _prior(self, given):
        return 1.0 / self.n_components if given is None else given

    @property
    def exp_dirichlet_component_(self):
        """The exponential of the expected logarithm of each topic's words."""
        lam = self.components_.astype(np.float64)
        return np.exp(psi(lam) - psi(lam.sum(axis=1, keepdims=True))).astype(self.components_.dtype)

    @property
    def _n_features_out(self):
        return len(self.components_)

    def transform(self, X, *, normalize=True):
        """The share of each topic in each document; ``normalize=False``: in words, with the prior."""
        check_is_fitted(self)
        X = self._checked_counts(X, 'LatentDirichletAllocation.transform', reset=False)
        shares = self.model_.transform(self._rows(X), self._threads())
        if not normalize:
            words = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1, 1)
            shares *= words + self.doc_topic_prior_ * shares.shape[1]
        return shares.astype(X.dtype, copy=False)

    def fit_transform(self, X, y=None, *, normalize=True):
        """:meth:`fit`, and the share of each topic in each document."""
        return self.fit(X, y).transform(X, normalize=normalize)

    def score(self, X, y=None):
        """The variational bound of the likelihood, as scikit-learn computes it."""
        check_is_fitted(self)
        return self.to_sklearn().score(self._checked_counts(X, 'LatentDirichletAllocation.score', reset=False))

    def perplexity(self, X, sub_sampling=False):
        """The perplexity by that bound, as scikit-learn computes it."""
        check_is_fitted(self)
        X = self._checked_counts(X, 'LatentDirichletAllocation.perplexity', reset=False)
        return self.to_sklearn().perplexity(X, sub_sampling=sub_sampling)

    def to_sklearn(self):
        """:class:`sklearn.decomposition.LatentDirichletAllocation` with this estimator's attributes."""
        from sklearn.decomposition import LatentDirichletAllocation as Other

        names = (
            'components_',
            'exp_dirichlet_component_',
            'doc_topic_prior_',
            'topic_word_prior_',
            'n_batch_iter_',
        )
        other = self._to_sklearn(Other, names)
        other.random_state_ = check_random_state(self.random_state)
        return other

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ['float32', 'float64']
        return tags
