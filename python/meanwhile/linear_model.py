"""Linear models: :class:`LinearSVC`, :class:`LogisticRegression`, :class:`Ridge`, :class:`Lasso`,
:class:`ElasticNet` and :class:`HuberRegressor`.

The library minimises (1 / W) sum of weight_i loss_i + l1 |w| + l2 / 2 w^2, where W is the sum of the
weights; each class here says what its scikit-learn parameters are in these terms.
"""

from ._classifiers import LinearSVC, LogisticRegression
from ._huber import HuberRegressor
from ._regressors import ElasticNet, Lasso, Ridge

__all__ = ['ElasticNet', 'HuberRegressor', 'Lasso', 'LinearSVC', 'LogisticRegression', 'Ridge']
