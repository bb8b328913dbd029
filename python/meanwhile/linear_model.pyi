"""Linear models."""

from ._classifiers import LinearSVC as LinearSVC, LogisticRegression as LogisticRegression
from ._huber import HuberRegressor as HuberRegressor
from ._regressors import ElasticNet as ElasticNet, Lasso as Lasso, Ridge as Ridge

__all__ = ['ElasticNet', 'HuberRegressor', 'Lasso', 'LinearSVC', 'LogisticRegression', 'Ridge']
