"""Runs, models and errors of the compiled module."""

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import meanwhile
from meanwhile import _data, _native

PROGRAM = [sys.executable, '-m', 'meanwhile']


def matrix(rows=400, cols=4, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, cols)).astype(dtype)


def run_program(*arguments, cwd):
    ran = subprocess.run([*PROGRAM, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


LEARNERS = {
    'kmeans': {'n_clusters': 4, 'max_iter': 5},
    'svm': {'max_iter': 5},
    'logistic': {'max_iter': 5},
    'linear': {'max_iter': 5},
    'lda': {'n_topics': 3, 'passes': 2},
}


@pytest.mark.parametrize('sparse', [False, True])
@pytest.mark.parametrize('dtype', [np.float32, np.float64])
@pytest.mark.parametrize('learner', LEARNERS)
def test_same_model_as_the_program(learner, dtype, sparse, tmp_path):
    if learner == 'lda' and not sparse:
        x = scipy.sparse.random(200, 30, 0.2, 'csr', dtype=dtype, rng=np.random.default_rng(3))
        x.data = np.ceil(5 * x.data)
        x = x.toarray()
    else:
        x = scipy.sparse.random(200, 30, 0.2, 'csr', dtype=dtype, rng=np.random.default_rng(3))
        x.data = np.ceil(5 * x.data)
        x = x if sparse else x.toarray()
    parameters = LEARNERS[learner]
    labels = None
    flags = [f'--{name.replace("_", "-")}={value}' for name, value in parameters.items()]
    if learner in ('svm', 'logistic', 'linear'):
        labels = np.random.default_rng(4).integers(0, 2, 200).astype(float)
        np.save(tmp_path / 'labels.npy', labels)
        flags.append('--labels=labels.npy')
    if sparse:
        scipy.sparse.save_npz(tmp_path / 'x.npz', x)
    else:
        np.save(tmp_path / 'x.npy', x)
    file = 'x.npz' if sparse else 'x.npy'
    run_program('train', learner, file, '--seed=7', '--threads=2', '--out=run', '--quiet', *flags, cwd=tmp_path)
    record = _native.read_run(tmp_path / 'run')
    result = _native.train(learner, _data.rows(x, labels=labels), parameters, seed=7, threads=1)
    assert result.record['data']['sha256'] == record['data']['sha256']
    assert result.model.sha256 == record['model_sha256']


def test_a_model_goes_round(tmp_path):
    rows = _data.rows(matrix())
    result = _native.train('kmeans', rows, {'n_clusters': 3}, seed=1)
    model = result.model
    assert model.learner == 'kmeans' and model.n_columns == 4 and model.has_labels
    assert model.parameters['n_clusters'] == 3
    assert result.record['data']['from'] == 'memory' and result.run_dir is None
    rounds = [line['round'] for line in result.history if 'round' in line]
    assert rounds == list(range(1, model.rounds + 1))
    labels = model.predict(rows)
    assert labels.shape == (400,) and set(labels) == {0, 1, 2}
    assert model.transform(rows).argmin(1).tolist() == labels.astype(int).tolist()
    centers = model.tensors()['centers']
    assert centers.shape == (3, 4) and not centers.flags.writeable
    again = _native.Model.from_bytes(model.to_bytes())
    assert again.sha256 == model.sha256 and (again.predict(rows) == labels).all()
    del model, again
    assert np.isfinite(centers).all()  # the view keeps its model
    result.model.save(tmp_path / 'model.safetensors')
    result.model.save(tmp_path / 'run')
    for path in ('model.safetensors', 'run'):
        loaded = meanwhile.load(tmp_path / path)
        assert loaded.model.sha256 == result.model.sha256
        assert loaded.params['n_clusters'] == 3
    assert meanwhile.load(tmp_path / 'run').history['round'].tolist() == rounds
    np.save(tmp_path / 'x.npy', matrix())
    printed = run_program('predict', 'run', 'x.npy', cwd=tmp_path).split()
    assert [int(each) for each in printed] == labels.astype(int).tolist()


def test_nothing_is_written_without_a_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _native.train('kmeans', _data.rows(matrix()), {'n_clusters': 2})
    assert list(tmp_path.iterdir()) == []


def test_errors_by_kind(tmp_path):
    rows = _data.rows(matrix())
    with pytest.raises(meanwhile.UsageError, match='n_clustres') as caught:
        _native.train('kmeans', rows, {'n_clustres': 3})
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, meanwhile.Error)
    with pytest.raises(ValueError, match='n_clusters='):
        _native.train('kmeans', rows, {'n_clusters': -3})
    with pytest.raises(meanwhile.InputError, match='there is no learner'):
        _native.train('kmean', rows)
    with pytest.raises(ValueError, match='n_clusters='):
        _native.train('kmeans', rows, {'n_clusters': 'many'})
    with pytest.raises(meanwhile.UsageError, match='init='):
        _native.train('kmeans', rows, {'init': object()})
    with pytest.raises(meanwhile.InputError):
        _native.Model.from_bytes(b'no model')
    broken = bytearray(_native.train('kmeans', rows, {'n_clusters': 2}).model.to_bytes())
    broken[-1] ^= 1
    with pytest.raises(meanwhile.InputError, match='damaged'):
        _native.Model.from_bytes(bytes(broken))
    with pytest.raises(meanwhile.InputError, match='no such run'):
        meanwhile.load(tmp_path / 'none')
    with pytest.raises(meanwhile.InputError, match='4 columns|5 columns'):
        _native.train('kmeans', rows, {'n_clusters': 2}).model.predict(_data.rows(matrix(cols=5)))
    error = pickle.loads(pickle.dumps(caught.value))
    assert type(error) is meanwhile.UsageError and str(error) == str(caught.value)


def test_warm_start_and_resume(tmp_path):
    rows = _data.rows(matrix())
    first = _native.train('kmeans', rows, {'n_clusters': 5, 'max_iter': 2, 'tol': 0}, seed=3)
    more = _native.train('kmeans', _data.rows(matrix(seed=9)), {'n_clusters': 5, 'max_iter': 2, 'tol': 0}, start=first.model)
    assert more.model.sha256 != first.model.sha256
    whole = _native.train('kmeans', rows, {'n_clusters': 5, 'max_iter': 6, 'tol': 0}, seed=3)
    run = tmp_path / 'run'
    _native.train('kmeans', rows, {'n_clusters': 5, 'max_iter': 3, 'tol': 0}, seed=3, run_dir=run)
    went_on = _native.train('kmeans', rows, {'n_clusters': 5, 'max_iter': 6, 'tol': 0}, run_dir=run, resume=True)
    assert went_on.model.sha256 == whole.model.sha256
    with pytest.raises(meanwhile.InputError, match='not the rows of'):
        _native.train('kmeans', _data.rows(matrix(seed=5)), {'max_iter': 9}, run_dir=run, resume=True)
    with pytest.raises(meanwhile.UsageError, match='run_dir='):
        _native.train('kmeans', rows, resume=True)


def test_callback_sees_rounds_and_ends_them():
    seen = []

    def callback(line):
        assert threading.current_thread() is threading.main_thread()
        seen.append(line['round'])
        return len(seen) == 3

    result = _native.train('kmeans', _data.rows(matrix(4000)), {'n_clusters': 50, 'tol': 0}, callback=callback)
    assert seen == [1, 2, 3]
    assert result.model.rounds == 3 and not result.converged

    def raises(line):
        raise ZeroDivisionError('mine')

    with pytest.raises(ZeroDivisionError, match='mine'):
        _native.train('kmeans', _data.rows(matrix()), {'n_clusters': 2}, callback=raises)


def test_interrupt_ends_a_run(tmp_path):
    # A run that would take minutes: that it ends at all is the test. The time is for bench-python.
    rows = _data.rows(matrix(100_000, 32))
    run = tmp_path / 'run'
    begun = threading.Event()

    def callback(line):
        begun.set()

    def press():
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    with pytest.raises(KeyboardInterrupt, match='resume=True'):
        _native.train('kmeans', rows, {'n_clusters': 500, 'max_iter': 10**6, 'tol': 0}, run_dir=run, callback=callback)
    assert _native.read_run(run)['status'] == 'interrupted'
    assert _native.load_model(run).rounds >= 1


def test_a_fork_can_train():
    rows = _data.rows(matrix())
    expected = _native.train('kmeans', rows, {'n_clusters': 3}, threads=2).model.sha256
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(write, _native.train('kmeans', rows, {'n_clusters': 3}, threads=2).model.sha256.encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as file:
        assert file.read() == expected
    assert os.waitpid(child, 0)[1] == 0


def test_threads_of_python_go_on_meanwhile():
    count = 0
    done = threading.Event()

    def work():
        nonlocal count
        while not done.is_set():
            count += 1
            time.sleep(0)

    thread = threading.Thread(target=work)
    thread.start()
    seen = []
    _native.train(
        'kmeans', _data.rows(matrix(20_000, 16)), {'n_clusters': 100, 'max_iter': 20, 'tol': 0},
        callback=lambda line: seen.append(count),
    )
    done.set()
    thread.join()
    assert seen[-1] > seen[0]


def test_schema():
    learners = {each['name']: each for each in _native.learners()}
    assert {'kmeans', 'svm', 'logistic', 'linear', 'lda'} <= set(learners)
    clusters = next(each for each in learners['kmeans']['parameters'] if each['name'] == 'n_clusters')
    assert clusters['type'] == 'whole' and clusters['fixed'] and clusters['help']


def test_import_brings_nothing():
    code = 'import sys, meanwhile; print(sorted({m.partition(".")[0] for m in sys.modules} & {"sklearn", "scipy", "pandas", "numpy"}))'
    ran = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == '[]'
    code = 'import meanwhile, os; meanwhile.Model; print(len(os.listdir("/proc/self/task")))'
    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True).stdout.strip() == '1'


def test_stub_names_what_there_is():
    text = (pathlib.Path(meanwhile.__file__).parent / '_native.pyi').read_text()
    import ast

    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            assert hasattr(_native, node.name), node.name
        if isinstance(node, ast.ClassDef) and not any(getattr(base, 'id', '') == 'TypedDict' for base in node.bases):
            kind = getattr(_native, node.name)
            for member in node.body:
                name = getattr(member, 'name', None) or getattr(getattr(member, 'target', None), 'id', None)
                assert name is None or hasattr(kind, name), f'{node.name}.{name}'


def test_plan(tmp_path):
    plan = meanwhile.plan('kmeans', rows=10**6, dims=100, n_clusters=50, machine='azure-small', workers=range(1, 33))
    assert plan.best['workers'] >= 1 and len(plan.points) == 32
    assert plan.svg.startswith('<svg') and plan._repr_svg_() is plan.svg
    with pytest.raises(meanwhile.UsageError, match='machine'):
        meanwhile.plan('kmeans', rows=10, dims=2, machine='no-such-machine')


def test_version():
    assert meanwhile.__version__ == _native.__version__
    assert run_program('--version', cwd='/').split()[-1].strip() in (meanwhile.__version__, f'v{meanwhile.__version__}')
