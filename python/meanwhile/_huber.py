"""Regression by Huber's loss, whose scale is fitted."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ._base import RUN_CONSTRAINTS, keep_parameters
from ._linear import NOTHING, LinearRegressor, total_weight

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


class HuberRegressor(LinearRegressor):
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
        keep_parameters(self, locals())

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
            'tol': NOTHING,
            'slope_tol': self.tol * scale / (2 * total),
        }

    def fit(self, X, y, sample_weight=None):
        """Learns from rows and their numbers."""
        self._validate_params()
        X, y, weights = self._read(X, y, sample_weight, multi_output=False)
        total = total_weight(weights, len(y))
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
