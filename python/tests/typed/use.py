"""Code as users write it. ``mypy --strict`` accepts it, and it runs: what types say is so."""

import pathlib
import sys
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import meanwhile
from meanwhile import KMeans, LatentDirichletAllocation, LinearSVC, LogisticRegression
from meanwhile.linear_model import ElasticNet, HuberRegressor, Lasso, Ridge


def clusters(X: NDArray[np.float64], folder: pathlib.Path) -> None:
    lines: list[dict[str, Any]] = []

    def callback(line: dict[str, Any]) -> bool:
        lines.append(line)
        return len(lines) >= 20

    km = KMeans(n_clusters=3, random_state=0, n_init='auto', deal='blocks', workers=1, callback=callback).fit(X)
    assert_type(km, KMeans)
    assert_type(km.labels_, NDArray[np.int32])
    assert_type(km.inertia_, float)
    assert_type(km.model_sha256_, str)
    assert_type(km.history_['objective'], NDArray[Any])
    assert_type(km.predict(X), NDArray[np.int32])
    assert km.cluster_centers_.shape == (3, X.shape[1]) and km.transform(X).shape == (len(X), 3)
    assert km.native_parameters(X)['n_clusters'] == km.get_params()['n_clusters'] == 3
    assert KMeans(3, init=X[:3], n_init=1).fit_predict(X).shape == km.labels_.shape
    km.save(folder / 'run')

    run = meanwhile.load(folder / 'run')
    assert_type(run, meanwhile.Run)
    assert_type(run.model, meanwhile.Model)
    assert run.model.sha256 == km.model_sha256_ and run.params['n_clusters'] == 3 and isinstance(run.lines, list)
    assert_type(run.model.tensors()['centers'], NDArray[Any])
    again = KMeans.from_model(run.model, n_clusters=3)
    assert_type(again, KMeans)
    assert again.score(X) == KMeans.load(str(folder / 'run')).score(X)


def classes(X: NDArray[np.float64], y: list[str]) -> None:
    svc = LinearSVC(C=0.5, loss='hinge', class_weight={'a': 1.0, 'b': 2.0}).fit(X, y)
    assert_type(svc.n_iter_, int)
    assert_type(svc.score(X, y), float)
    clf = LogisticRegression(C=10, l1_ratio=0.5, class_weight='balanced', n_jobs=1).fit(X, y, sample_weight=np.ones(len(y)))
    assert_type(clf, LogisticRegression)
    assert_type(clf.n_iter_, NDArray[np.int32])
    assert clf.predict_proba(X).shape == (len(X), 2) and clf.classes_.tolist() == ['a', 'b']
    assert clf.set_params(C=1.0, warm_start=True).fit(X, y).coef_.shape == (1, X.shape[1])


def numbers(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    for model in (Ridge(alpha=0.1), Lasso(0.1), ElasticNet(alpha=0.1, l1_ratio=0.9)):
        assert model.fit(X, y).predict(X).shape == y.shape and model.converged_
    huber = HuberRegressor(epsilon=1.5).fit(X, y)
    assert_type(huber.scale_, float)
    assert_type(huber.outliers_, NDArray[np.bool_])
    assert len(Ridge().fit(X, np.column_stack([y, -y])).models_) == 2


def topics(X: NDArray[np.float64]) -> None:
    lda = LatentDirichletAllocation(n_components=2, learning_method='online', random_state=0).fit(np.round(np.abs(X)))
    assert lda.components_.shape == (2, X.shape[1])
    assert_type(lda.perplexity(np.round(np.abs(X))), float)


def plans() -> None:
    plan = meanwhile.plan('kmeans', rows=10**6, dims=100, n_clusters=50, machine='azure-small', workers=range(1, 9))
    assert_type(plan, meanwhile.Plan)
    assert plan.best['workers'] >= 1 and len(plan.points) == 8 and plan.svg.startswith('<svg')


def errors(folder: pathlib.Path) -> None:
    try:
        meanwhile.load(folder / 'nothing')
    except meanwhile.InputError as error:
        assert isinstance(error, meanwhile.Error) and isinstance(error, ValueError)


def main(folder: pathlib.Path) -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    clusters(X, folder)
    classes(X, ['a' if value > 0 else 'b' for value in X[:, 0]])
    numbers(X, X @ np.arange(4.0))
    topics(X)
    plans()
    errors(folder)


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
