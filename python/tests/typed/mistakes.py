"""Mistakes that types find: ``mypy --strict`` would name each line whose remark were not needed."""

import numpy as np

import meanwhile
from meanwhile import KMeans, KMean  # type: ignore[attr-defined]

X = np.zeros((3, 2))

KMeans(clusters=3)  # type: ignore[call-arg]
KMeans(n_clusters='3')  # type: ignore[arg-type]
KMeans(deal='rows')  # type: ignore[arg-type]
KMeans().fit()  # type: ignore[call-arg]
KMeans().labels  # type: ignore[attr-defined]
KMeans().fit(X).centers_  # type: ignore[attr-defined]
meanwhile.Lasso(l1_ratio=0.5)  # type: ignore[call-arg]
meanwhile.LinearSVC().predict_proba(X)  # type: ignore[attr-defined]
meanwhile.Ridge().fit(X)  # type: ignore[call-arg]
meanwhile.plan('kmeans', rows=10)  # type: ignore[call-arg]
meanwhile.load()  # type: ignore[call-arg]
meanwhile.load('runs/a').modell  # type: ignore[attr-defined]
