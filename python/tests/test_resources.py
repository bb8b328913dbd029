"""Memory, time of imports, interrupts: what a fit costs beside its result."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import meanwhile
from meanwhile import _data, _native


def run_python(code, **options):
    return subprocess.run(
        [sys.executable, '-c', textwrap.dedent(code)], capture_output=True, text=True, check=True, **options
    ).stdout


def test_importing_is_cheap():
    """No scikit-learn, no numpy, no compiled library until a name is used."""
    out = run_python("""
        import sys, meanwhile
        print(sorted(m for m in sys.modules if m.split('.')[0] in ('sklearn', 'numpy', 'scipy', 'pandas')))
        print('meanwhile._native' in sys.modules)
    """)
    assert out.splitlines() == ['[]', 'False']


def test_a_borrowed_matrix_is_not_copied():
    """The most that a fit takes beside the rows; the peak of the process is asked of the kernel."""
    out = run_python("""
        import resource
        import numpy as np
        from meanwhile import KMeans
        KMeans(2, random_state=0, max_iter=2).fit(np.random.default_rng(0).random((100, 4), np.float32))
        x = np.empty((750_000, 64), np.float32)
        for begin in range(0, len(x), 10_000):
            x[begin : begin + 10_000] = np.random.default_rng(begin).random((10_000, 64), np.float32)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        KMeans(4, random_state=0, max_iter=2, init='random', n_init=1).fit(x)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before, x.nbytes)
    """)
    more, data = map(int, out.split())
    assert more <= 0.15 * data + 64 * 2**20, f'{more / 2**20:.0f} MB beside {data / 2**20:.0f} MB of rows'


def resident():
    pages = int(pathlib.Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def counted():
    """Open files and threads of this process."""
    return len(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
def test_fits_leave_nothing_behind():
    x = np.random.default_rng(0).random((2000, 50))
    y = (x[:, 0] > 0.5).astype(float)

    def fit():
        meanwhile.KMeans(3, random_state=0, max_iter=2).fit(x).predict(x)
        meanwhile.LogisticRegression(max_iter=2).fit(x, y).predict(x)

    for _ in range(20):
        fit()
    before, others = resident(), counted()
    for _ in range(500):  # two fits each
        fit()
    # A copy of the rows that stayed would be 800 MB, a thousand bytes of each fit 1 MB.
    assert resident() - before < 16 * 2**20
    assert counted() == others


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
def test_interrupts_end_a_fit(tmp_path):
    code = textwrap.dedent(f"""
        import sys
        import numpy as np
        from meanwhile import KMeans
        x = np.random.default_rng(0).random((200_000, 32), np.float32)
        said = []
        def begun(line):
            if not said:
                said.append(print('training', flush=True))
        try:
            KMeans(500, random_state=0, init='random', n_init=1, tol=0, max_iter=100_000,
                   run_dir={str(tmp_path / 'run')!r}, callback=begun).fit(x)
        except KeyboardInterrupt as interrupt:
            print('interrupted', interrupt)
    """)
    process = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == 'training\n'
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        print(f'ended {time.monotonic() - begin:.2f} s after the signal')
    finally:
        process.kill()
    assert out.startswith('interrupted')
    assert 'run' in out


def ends_early(call):
    """Whether Ctrl-C at a tenth of the time that ``call`` takes ends it before half of the rest."""
    begin = time.monotonic()
    call()
    whole = time.monotonic() - begin
    sent = []

    def press():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(whole / 10, press)
    timer.start()
    try:
        call()
        timer.join()
        time.sleep(1)  # the signal comes between two instructions
    except KeyboardInterrupt:
        return time.monotonic() - sent[0] < 0.45 * whole
    return False


# Work of a second or so in one piece, for each thing that a fit does.
def deal_by_content():
    rows = _data.rows(np.random.default_rng(0).random((1_500_000, 8), np.float32))
    parameters = {'n_clusters': 2, 'init': 'random', 'n_init': 1, 'max_iter': 1}
    return lambda: _native.train('kmeans', rows, parameters, deal='content', threads=1)


def one_round():
    rows = _data.rows(np.random.default_rng(0).random((200_000, 32), np.float32))
    parameters = {'n_clusters': 2000, 'init': 'random', 'n_init': 1, 'max_iter': 1}
    return lambda: _native.train('kmeans', rows, parameters, shards=1, threads=1)


def gram_matrix():
    x = np.random.default_rng(0).random((100_000, 200), np.float32)
    rows = _data.rows(x, labels=x.sum(axis=1))
    parameters = {'loss': 'squared', 'l1': 1e-6, 'solver': 'working-set'}
    return lambda: _native.train('linear', rows, parameters, shards=1, threads=1)


def prediction():
    x = np.random.default_rng(0).random((200_000, 32), np.float32)
    parameters = {'n_clusters': 2000, 'init': 'random', 'n_init': 1, 'max_iter': 1}
    model = _native.train('kmeans', _data.rows(x[:4000]), parameters).model
    rows = _data.rows(x)
    return lambda: model.predict(rows, 1)


@pytest.mark.parametrize('phase', [deal_by_content, one_round, gram_matrix, prediction])
def test_interrupts_end_every_phase(phase):
    call = phase()
    # A machine that does something else meanwhile gets another chance.
    assert any(ends_early(call) for _ in range(3))
