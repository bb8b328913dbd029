"""Estimators among scikit-learn's own, in files, in pickles, and beside the command line."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import meanwhile

pytestmark = pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')

PROGRAM = [sys.executable, '-m', 'meanwhile']


def run_program(*arguments):
    ran = subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 3), ran.stderr
    return ran.stdout


def counts():
    return np.random.default_rng(0).poisson(0.7, (60, 25)).astype(float)


# Each estimator with rows, labels, and the learner that the command line calls it.
FITS = {
    'KMeans': ({'n_clusters': 4, 'random_state': 7}, 'kmeans'),
    'LinearSVC': ({}, 'svm'),
    'LogisticRegression': ({}, 'logistic'),
    'Ridge': ({}, 'linear'),
    'Lasso': ({'alpha': 0.5}, 'linear'),
    'ElasticNet': ({'alpha': 0.5}, 'linear'),
    'HuberRegressor': ({}, 'linear'),
    'LatentDirichletAllocation': ({'n_components': 3, 'random_state': 7}, 'lda'),
}
REGRESSORS = ('Ridge', 'Lasso', 'ElasticNet', 'HuberRegressor')


def data_for(name):
    if name == 'LatentDirichletAllocation':
        return counts(), None
    if name in REGRESSORS:
        return load_diabetes(return_X_y=True)
    x, y = load_iris(return_X_y=True)
    return x, None if name == 'KMeans' else y


def fitted(name, **more):
    x, y = data_for(name)
    return getattr(meanwhile, name)(**FITS[name][0], **more).fit(x, y), x, y


def answer(model, x):
    return model.transform(x) if hasattr(model, 'transform') else model.predict(x)


@pytest.mark.parametrize('name', FITS)
def test_pickles(name):
    model, x, _ = fitted(name)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(again, x), answer(model, x))
    assert again.model_sha256_ == model.model_sha256_ == again.model_.sha256
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), 'model_')


@pytest.mark.parametrize('name', FITS)
def test_files_and_back(name, tmp_path):
    model, x, _ = fitted(name)
    for path in (tmp_path / 'model.safetensors', tmp_path / 'run'):
        model.save(path)
        assert meanwhile.load(path).model.sha256 == model.model_sha256_
        again = type(model).load(path, **FITS[name][0])
        np.testing.assert_array_equal(answer(again, x), answer(model, x))
        assert json.loads(run_program('inspect', path, '--json'))


def test_a_file_is_loaded_as_what_it_is(tmp_path):
    fitted('Ridge')[0].save(tmp_path / 'ridge.safetensors')
    with pytest.raises(ValueError, match='takes models of kmeans; this is one of linear'):
        meanwhile.KMeans.load(tmp_path / 'ridge.safetensors')


@pytest.mark.parametrize('sparse', [False, True])
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('name', FITS)
def test_the_command_line_has_the_same_bits(name, dtype, sparse, tmp_path):
    x, y = data_for(name)
    x = x.astype(dtype)
    if name == 'LatentDirichletAllocation' or sparse:
        x = np.where(np.abs(x) < 0.01, 0, x)
    given, learner = FITS[name]
    model = getattr(meanwhile, name)(**given).fit(scipy.sparse.csr_matrix(x) if sparse else x, y)
    path = tmp_path / ('x.npz' if sparse else 'x.npy')
    if sparse:
        scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(x), compressed=False)
    else:
        np.save(path, x)
    arguments = ['train', learner, path, '--dtype', np.dtype(dtype).name, '--out', tmp_path / 'run']
    if y is not None:
        np.save(tmp_path / 'y.npy', np.asarray(y, dtype=float))
        arguments += ['--labels', tmp_path / 'y.npy']
    arguments += ['--seed', given.get('random_state', 0), '--deal', 'content']
    if name == 'KMeans':
        parameters = model.native_parameters(scipy.sparse.csr_matrix(x) if sparse else x)
    elif name in REGRESSORS:
        parameters = model.native_parameters(float(len(y)))
    elif y is not None:
        parameters = model.native_parameters(float(len(y)), len(np.unique(y)))
    else:
        parameters = model.native_parameters()
    for key, value in parameters.items():
        flag = '--' + key.replace('_', '-')
        if isinstance(value, bool):
            arguments.append(flag if value else '--no-' + flag[2:])
        else:
            arguments += [flag, repr(value) if isinstance(value, float) else value]
    run_program(*arguments)
    assert meanwhile.load(tmp_path / 'run').model.sha256 == model.model_sha256_


@pytest.mark.parametrize('name', FITS)
def test_no_result_depends_on_workers(name):
    hashes = {fitted(name, workers=workers, shards=4)[0].model_sha256_ for workers in (1, 2, 3)}
    assert len(hashes) == 1


def test_the_order_of_rows_does_not_matter():
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    for estimator, labels in (
        (meanwhile.KMeans(n_clusters=10, random_state=0), None),
        (meanwhile.LogisticRegression(max_iter=20), y),
        (meanwhile.LinearSVC(max_iter=20), y),
    ):
        first = clone(estimator).fit(x, labels).model_sha256_
        assert clone(estimator).fit(x[order], None if labels is None else labels[order]).model_sha256_ == first


def test_a_weight_is_so_many_rows_to_the_last_bit():
    x, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    for estimator, labels in (
        (meanwhile.KMeans(n_clusters=5, random_state=0), np.zeros(len(y))),
        (meanwhile.LogisticRegression(), y),
        (meanwhile.LinearSVC(class_weight='balanced'), y),
        (meanwhile.Ridge(), y),
        (meanwhile.Lasso(alpha=0.01), y),
        (meanwhile.HuberRegressor(), y),
    ):
        weighted = clone(estimator).fit(x, labels, sample_weight=weights)
        repeated = clone(estimator).fit(x.repeat(weights, axis=0), labels.repeat(weights))
        assert weighted.model_sha256_ == repeated.model_sha256_, estimator


def test_pipelines_and_grids():
    x, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), meanwhile.LogisticRegression())
    grid = GridSearchCV(pipeline, {'logisticregression__C': [0.01, 1.0]}, n_jobs=2, cv=3).fit(x, y)
    assert grid.best_score_ > 0.93
    clusters = make_pipeline(meanwhile.KMeans(n_clusters=8, random_state=0), meanwhile.LinearSVC())
    assert clusters.fit(x, y).score(x, y) > 0.9


@pytest.mark.parametrize('library', ['pandas', 'polars', 'pyarrow'])
def test_tables(library):
    x, y = load_iris(return_X_y=True)
    columns = {f'c{j}': x[:, j] for j in range(4)}
    if library == 'pandas':
        import pandas

        table = pandas.DataFrame(columns)
    elif library == 'polars':
        import polars

        table = polars.DataFrame(columns)
    else:
        import pyarrow

        table = pyarrow.table(columns)
    model = meanwhile.KMeans(n_clusters=3, random_state=0).fit(table)
    assert model.model_sha256_ == meanwhile.KMeans(n_clusters=3, random_state=0).fit(x).model_sha256_
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    classifier = meanwhile.LogisticRegression().fit(table, y)
    assert classifier.score(table, y) > 0.95
    if library != 'pyarrow':  # scikit-learn takes names from data frames alone
        assert list(model.feature_names_in_) == list(columns)
        frame = model.set_output(transform=library).transform(table)
        assert type(frame).__module__.startswith(library)
        assert list(frame.columns) == ['kmeans0', 'kmeans1', 'kmeans2']


@pytest.mark.parametrize('name', FITS)
def test_to_sklearn(name):
    model, x, y = fitted(name)
    theirs = model.to_sklearn()
    assert type(theirs).__module__.startswith('sklearn.')
    np.testing.assert_allclose(answer(theirs, x), answer(model, x), rtol=1e-5, atol=2e-3)
    if y is not None:
        assert theirs.score(x, y) == pytest.approx(model.score(x, y), rel=1e-9)


@pytest.mark.parametrize('name', [name for name in FITS if name != 'LatentDirichletAllocation'])
def test_onnx(name):
    import onnxruntime
    from skl2onnx import to_onnx

    model, x, _ = fitted(name)
    x = x.astype(np.float32)
    graph = to_onnx(model.to_sklearn(), x[:1])
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=['CPUExecutionProvider'])
    first = session.run(None, {session.get_inputs()[0].name: x})[0]
    expected = model.predict(x)
    if expected.dtype.kind == 'f':
        np.testing.assert_allclose(first.ravel(), expected, rtol=1e-3, atol=1e-3)
    else:
        assert np.mean(first.ravel() == expected) > 0.99


def test_labels_are_what_they_were():
    x, y = load_iris(return_X_y=True)
    words = np.array(['setosa', 'versi,color', 'vir:ginica'])
    for labels in (words[y], y.astype(np.int8), 2.0 * y, words[y].astype(object), y > 0):
        for estimator in (meanwhile.LogisticRegression(), meanwhile.LinearSVC(class_weight='balanced')):
            model = estimator.fit(x, labels)
            np.testing.assert_array_equal(model.classes_, np.unique(labels))
            assert model.predict(x).dtype == np.unique(labels).dtype
            assert model.score(x, labels) > 0.9


def test_several_targets():
    x, y = load_diabetes(return_X_y=True)
    targets = np.column_stack([y, -2 * y])
    model = meanwhile.Ridge().fit(x, targets)
    assert model.coef_.shape == (2, x.shape[1])
    np.testing.assert_allclose(model.predict(x)[:, 1], -2 * model.predict(x)[:, 0], rtol=1e-6)
    with pytest.raises(ValueError, match='models_'):
        model.save('nowhere')
    assert not hasattr(model.fit(x, y), 'models_')


def test_partial_fit_goes_on():
    x = counts()
    model = meanwhile.LatentDirichletAllocation(n_components=3, random_state=0, batch_size=20, total_samples=60)
    model.partial_fit(x[:40])
    first = model.components_.copy()
    assert model.n_batch_iter_ == 3
    model.partial_fit(x[40:])
    assert model.n_batch_iter_ == 4
    assert np.abs(model.components_ - first).max() > 1e-3
    # A step of the way to what the last documents say, as often as there are documents.
    share = (10 + 3) ** -0.7
    words = (1 - share) * first.sum() + share * (x[40:].sum() * 3 + model.components_.size / 3)
    assert model.components_.sum() == pytest.approx(words, rel=1e-5)


def test_warm_start_begins_from_the_model():
    x, y = load_iris(return_X_y=True)
    model = meanwhile.LogisticRegression(warm_start=True, tol=1e-6, max_iter=1000).fit(x, y)
    rounds = model.n_iter_[0]
    assert model.fit(x, y).n_iter_[0] < rounds / 2


def test_runs_and_callbacks(tmp_path, capsys):
    x, _ = load_iris(return_X_y=True)
    seen = []
    model = meanwhile.KMeans(3, random_state=0, run_dir=tmp_path / 'run', callback=seen.append, verbose=1).fit(x)
    assert (tmp_path / 'run' / 'run.json').is_file()
    assert meanwhile.load(tmp_path / 'run').model.sha256 == model.model_sha256_
    assert len(seen) >= model.n_iter_
    assert 'round 1: objective' in capsys.readouterr().out
    objective = model.history_['objective']
    assert objective[-1] <= objective[0]
    stopped = meanwhile.KMeans(3, random_state=0, callback=lambda line: line['round'] >= 1).fit(x)
    assert stopped.n_iter_ <= 2


def test_the_card_of_a_notebook():
    model, _, _ = fitted('KMeans')
    page = model._repr_html_()
    assert model.model_sha256_[:12] in page
    assert '<polyline' in page
    assert 'sk-' in page, 'the diagram of scikit-learn'
    assert 'meanwhile-card' not in clone(model)._repr_html_()
    assert 'KMeans(n_clusters=4' in repr(model)
    assert '<script' not in meanwhile.KMeans(init='random')._repr_html_().split('sk-')[0]


def test_the_place_of_a_bad_value():
    x, y = load_iris(return_X_y=True)
    x[77, 2] = np.nan
    for rows in (x, scipy.sparse.csr_matrix(x), scipy.sparse.csc_matrix(x)):
        with pytest.raises(ValueError, match=r'NaN(.|\n)*row 77, column 2'):
            meanwhile.LogisticRegression().fit(rows, y)
    with pytest.raises(ValueError, match='row 0, column 1'):
        meanwhile.KMeans(1).fit([[1.0, np.inf]])


def test_first_centres_are_those_given():
    x, _ = load_iris(return_X_y=True)
    model = meanwhile.KMeans(3, init=x[[0, 60, 120]], max_iter=1, random_state=0).fit(x)
    def chosen(x, k, random_state):
        return x[[0, 60, 120]]

    called = meanwhile.KMeans(3, init=chosen, n_init=2, max_iter=1, random_state=0).fit(x)
    np.testing.assert_array_equal(model.cluster_centers_, called.cluster_centers_)
    with pytest.raises(ValueError, match='does not match the number of clusters 3'):
        meanwhile.KMeans(3, init=x[:2]).fit(x)


def test_more_clusters_than_distinct_rows():
    x = np.repeat([[0.0], [1.0]], 4, axis=0)
    with pytest.warns(match='Number of distinct clusters'):
        model = meanwhile.KMeans(5, random_state=0).fit(x)
    assert model.inertia_ == 0
