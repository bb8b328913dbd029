"""Parameters mean what scikit-learn's mean: its objective, computed here by hand, is as low as its own."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn import linear_model, svm
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

import meanwhile

# Objectives agree to this part; lower is better.
CLOSE = 1e-6

pytestmark = pytest.mark.filterwarnings('ignore::FutureWarning')


def classification(classes):
    x, y = load_iris(return_X_y=True) if classes == 3 else load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    return x, y, weights


def regression():
    x, y = load_diabetes(return_X_y=True)
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    return 10 * x, y, weights


def margins(model, x):
    return x @ np.atleast_2d(model.coef_).T + model.intercept_


def logistic(model, x, y, weights, C, l1_ratio):
    z = margins(model, x)
    if z.shape[1] == 1:
        z = np.hstack([np.zeros_like(z), z])
    rows = logsumexp(z, axis=1) - z[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    w = model.coef_
    return C * weights @ rows + l1_ratio * np.abs(w).sum() + (1 - l1_ratio) / 2 * (w**2).sum()


def hinge(model, x, y, weights, C, power, scaling, penalty='l2'):
    z = margins(model, x)
    classes = model.classes_[1:] if z.shape[1] == 1 else model.classes_
    sides = np.where(y[:, None] == classes, 1, -1)
    losses = (weights[:, None] * np.maximum(0, 1 - sides * z) ** power).sum()
    if penalty == 'l1':
        return C * losses + np.abs(model.coef_).sum()
    return C * losses + 0.5 * (model.coef_**2).sum() + 0.5 * (np.asarray(model.intercept_) ** 2).sum() / scaling**2


def squares(model, x, y, weights, alpha, l1_ratio, fixed=1.0):
    """As ElasticNet has it; Ridge's is this for l1_ratio 0, times 2 n."""
    residual = y - x @ model.coef_ - model.intercept_
    w = model.coef_
    mean = weights @ residual**2 / weights.sum()
    return fixed * mean / 2 + alpha * l1_ratio * np.abs(w).sum() + alpha * (1 - l1_ratio) / 2 * w @ w


def huber(model, x, y, weights, epsilon, alpha):
    sigma = model.scale_
    z = np.abs(y - x @ model.coef_ - model.intercept_) / sigma
    losses = np.where(z < epsilon, z**2, 2 * epsilon * z - epsilon**2)
    return weights @ (sigma + losses * sigma) + alpha * model.coef_ @ model.coef_


def expect_as_low(ours, theirs):
    assert ours <= theirs * (1 + CLOSE), (ours - theirs) / theirs
    assert theirs <= ours * (1 + CLOSE), f'scikit-learn has not converged: {(ours - theirs) / theirs}'


@pytest.mark.parametrize('classes', [2, 3])
@pytest.mark.parametrize(
    'given',
    [
        {},
        {'C': 0.05},
        {'C': np.inf, 'classes': 2, 'rows': 'noisy'},
        {'fit_intercept': False},
        {'class_weight': 'balanced'},
        {'class_weight': {0: 3.0, 1: 0.5}},
        {'l1_ratio': 1.0, 'C': 0.1},
        {'l1_ratio': 0.4, 'C': 0.1},
    ],
    ids=str,
)
def test_logistic(given, classes):
    given = dict(given)
    if given.pop('classes', classes) != classes:
        return
    x, y, weights = classification(classes)
    if given.pop('rows', None):  # not separable, so that there is a minimum without a penalty
        y = np.random.default_rng(0).integers(0, 2, len(y))
        x = x[:, :5]
    l1_ratio = given.get('l1_ratio', 0)
    ours = meanwhile.LogisticRegression(tol=1e-8, max_iter=20_000, **given).fit(x, y, weights)
    solver = {'solver': 'saga', 'max_iter': 100_000, 'tol': 1e-9} if l1_ratio else {'max_iter': 20_000, 'tol': 1e-8}
    theirs = linear_model.LogisticRegression(**solver, **given).fit(x, y, weights)
    each = weights
    if given.get('class_weight') == 'balanced':
        sums = np.bincount(y, weights=weights)
        each = weights * (weights.sum() / (len(sums) * sums))[y]
    elif given.get('class_weight'):
        each = weights * np.array([given['class_weight'].get(k, 1.0) for k in range(classes)])[y]
    C = given.get('C', 1.0)
    if np.isinf(C):
        arguments = (x, y, each, 1.0, 0.0)
        a, b = (logistic(m, *arguments) - (m.coef_**2).sum() / 2 for m in (ours, theirs))
        return expect_as_low(a, b)
    expect_as_low(logistic(ours, x, y, each, C, l1_ratio), logistic(theirs, x, y, each, C, l1_ratio))
    if l1_ratio == 1:
        assert (ours.coef_ == 0).any()


@pytest.mark.parametrize('classes', [2, 3])
@pytest.mark.parametrize(
    'given',
    [
        {},
        {'C': 0.1},
        {'loss': 'hinge'},
        {'intercept_scaling': 5.0},
        {'fit_intercept': False},
        {'class_weight': 'balanced'},
        {'penalty': 'l1', 'fit_intercept': False, 'C': 0.1},
    ],
    ids=str,
)
def test_linear_svc(given, classes):
    if 'class_weight' in given and classes == 3:
        return  # liblinear weighs the rows of the one class alone: see doc/python.md
    x, y, weights = classification(classes)
    tol = 1e-4 if given.get('loss') == 'hinge' else 1e-8
    ours = meanwhile.LinearSVC(tol=tol, max_iter=50_000, **given).fit(x, y, weights)
    dual = given.get('loss') == 'hinge'
    theirs = svm.LinearSVC(tol=1e-9, max_iter=1_000_000, dual=dual, random_state=0, **given).fit(x, y, weights)
    each = weights
    if 'class_weight' in given:
        sums = np.bincount(y, weights=weights)
        each = weights * (weights.sum() / (len(sums) * sums))[y]
    rest = (given.get('C', 1.0), 1 if dual else 2, given.get('intercept_scaling', 1.0), given.get('penalty', 'l2'))
    expect_as_low(hinge(ours, x, y, each, *rest), hinge(theirs, x, y, each, *rest))


@pytest.mark.parametrize('given', [{}, {'alpha': 0.01}, {'alpha': 0.0}, {'fit_intercept': False}], ids=str)
def test_ridge(given):
    x, y, weights = regression()
    ours = meanwhile.Ridge(**given).fit(x, y, weights)
    theirs = linear_model.Ridge(**given).fit(x, y, weights)
    alpha = given.get('alpha', 1.0) / weights.sum()
    expect_as_low(squares(ours, x, y, weights, alpha, 0), squares(theirs, x, y, weights, alpha, 0))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-5)


def test_ridge_of_columns_that_are_not_scaled():
    x, y = load_breast_cancer(return_X_y=True)
    ours, theirs = (cls(alpha=1e-3).fit(x, y) for cls in (meanwhile.Ridge, linear_model.Ridge))
    ones = np.ones(len(y))
    expect_as_low(*(squares(m, x, y, ones, 1e-3 / len(y), 0) for m in (ours, theirs)))


@pytest.mark.parametrize(
    ('name', 'given'),
    [
        ('Lasso', {}),
        ('Lasso', {'alpha': 0.1}),
        ('Lasso', {'alpha': 2.0, 'fit_intercept': False}),
        ('ElasticNet', {}),
        ('ElasticNet', {'alpha': 0.1, 'l1_ratio': 0.9}),
        ('ElasticNet', {'alpha': 0.1, 'l1_ratio': 0.0}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings('ignore::UserWarning')
def test_lasso_and_elastic_net(name, given):
    x, y, weights = regression()
    ours = getattr(meanwhile, name)(tol=1e-8, **given).fit(x, y, weights)
    theirs = getattr(linear_model, name)(tol=1e-10, max_iter=100_000, **given).fit(x, y, weights)
    arguments = (x, y, weights, given.get('alpha', 1.0), given.get('l1_ratio', 1.0 if name == 'Lasso' else 0.5))
    expect_as_low(squares(ours, *arguments), squares(theirs, *arguments))


def test_tolerance_of_lasso_is_scikit_learns():
    """A gap of tol times the mean of squares, of centred labels."""
    x, y, _ = regression()
    for tol in (1e-2, 1e-4):
        model = meanwhile.Lasso(alpha=0.5, tol=tol).fit(x, y)
        best = meanwhile.Lasso(alpha=0.5, tol=1e-10).fit(x, y)
        ones = np.ones(len(y))
        off = squares(model, x, y, ones, 0.5, 1) - squares(best, x, y, ones, 0.5, 1)
        assert off <= tol * np.var(y)


@pytest.mark.parametrize(
    'given', [{}, {'epsilon': 2.0}, {'epsilon': 1.1}, {'alpha': 10.0}, {'fit_intercept': False}], ids=str
)
def test_huber(given):
    x, y, weights = regression()
    x = StandardScaler().fit_transform(x)
    y = y / 50
    y[::10] += 20
    ours = meanwhile.HuberRegressor(tol=1e-6, max_iter=10_000, **given).fit(x, y, weights)
    theirs = linear_model.HuberRegressor(tol=1e-6, max_iter=10_000, **given).fit(x, y, weights)
    arguments = (x, y, weights, given.get('epsilon', 1.35), given.get('alpha', 0.0001))
    expect_as_low(huber(ours, *arguments), huber(theirs, *arguments))
    assert ours.scale_ == pytest.approx(theirs.scale_, rel=1e-3)
    np.testing.assert_array_equal(ours.outliers_, theirs.outliers_)


@pytest.mark.parametrize('tol', [1e-1, 1e-3, 1e-4, 0])
def test_kmeans_from_the_same_centres(tol):
    """The same centres to begin with, the same rounds, the same end."""
    x = StandardScaler().fit_transform(load_breast_cancer(return_X_y=True)[0])
    ours, theirs = (cls(n_clusters=5, init=x[:5], n_init=1, tol=tol).fit(x) for cls in (meanwhile.KMeans, TheirKMeans))
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=CLOSE)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    # scikit-learn looks at labels, too: it may see a round earlier that nothing moves.
    assert abs(ours.n_iter_ - theirs.n_iter_) <= 1
    assert ours.score(x) == pytest.approx(-ours.inertia_)


@pytest.mark.parametrize('given', [{}, {'init': 'random'}, {'init': 'random', 'n_init': 3}], ids=str)
def test_kmeans_is_as_good(given):
    x = load_iris().data
    seeds = range(5)
    ours, theirs = (
        np.median([cls(n_clusters=3, random_state=s, **given).fit(x).inertia_ for s in seeds])
        for cls in (meanwhile.KMeans, TheirKMeans)
    )
    assert ours <= theirs * 1.05


def documents():
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(60, 0.1), 4)
    shares = random.dirichlet(np.full(4, 0.2), 120)
    return np.array([random.multinomial(80, share @ topics) for share in shares]).astype(float)


@pytest.mark.parametrize(
    'given',
    [{}, {'doc_topic_prior': 0.2, 'topic_word_prior': 0.05}, {'learning_method': 'online', 'batch_size': 30}],
    ids=str,
)
def test_lda_is_scikit_learns_fixed_point(given):
    """A round of scikit-learn's from our topics changes next to nothing; its bound of our topics is as
    high as that of its own."""
    from sklearn.decomposition import LatentDirichletAllocation as Theirs

    x = documents()
    exact = {'n_components': 4, 'max_iter': 60, 'mean_change_tol': 1e-7, 'max_doc_update_iter': 500}
    ours = meanwhile.LatentDirichletAllocation(random_state=0, **exact, **given).fit(x)
    theirs = max((Theirs(random_state=s, **exact, **given).fit(x) for s in range(2)), key=lambda m: m.score(x))
    assert ours.score(x) > theirs.score(x) - 1e-3 * abs(theirs.score(x))
    if 'learning_method' in given:
        return
    again = ours.to_sklearn()
    before = again.score(x)
    again.random_state_ = None
    again._em_step(x, total_samples=len(x), batch_update=True)
    assert again.score(x) == pytest.approx(before, rel=CLOSE)


def test_lda_shares_are_scikit_learns():
    x = documents()
    ours = meanwhile.LatentDirichletAllocation(n_components=4, random_state=0, mean_change_tol=1e-6).fit(x)
    np.testing.assert_allclose(ours.transform(x), ours.to_sklearn().transform(x), atol=1e-4)
    gamma = ours.transform(x, normalize=False)
    np.testing.assert_allclose(gamma, ours.to_sklearn().transform(x, normalize=False), atol=1e-2)


@pytest.mark.parametrize(
    ('name', 'given'),
    [
        ('LogisticRegression', {'dual': True}),
        ('LogisticRegression', {'solver': 'saga'}),
        ('LogisticRegression', {'intercept_scaling': 2.0}),
        ('LogisticRegression', {'penalty': 'l1', 'l1_ratio': 0.5}),
        ('LinearSVC', {'multi_class': 'crammer_singer'}),
        ('LinearSVC', {'penalty': 'l1'}),
        ('Ridge', {'positive': True}),
        ('Ridge', {'solver': 'svd'}),
        ('Ridge', {'alpha': np.array([1.0, 2.0])}),
        ('Lasso', {'positive': True}),
        ('Lasso', {'selection': 'random'}),
        ('ElasticNet', {'precompute': True}),
        ('LatentDirichletAllocation', {'evaluate_every': 1}),
        ('LatentDirichletAllocation', {'perp_tol': 0.5}),
        ('KMeans', {'n_clusters': 0}),
        ('KMeans', {'algorithm': 'full'}),
        ('KMeans', {'deal': 'cards'}),
    ],
    ids=str,
)
def test_what_we_do_not_have_raises(name, given):
    x = np.random.default_rng(0).random((12, 3))
    estimator = getattr(meanwhile, name)(**given)
    with pytest.raises(ValueError, match=next(iter(given))):
        estimator.fit(x, np.arange(12) % 2)
