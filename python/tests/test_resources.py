"""Memory, time of imports, interrupts: what a fit costs beside its result."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import meanwhile


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


@pytest.mark.filterwarnings('ignore::sklearn.exceptions.ConvergenceWarning')
def test_fits_leave_nothing_behind():
    x = np.random.default_rng(0).random((2000, 50))
    y = (x[:, 0] > 0.5).astype(float)

    def fit():
        meanwhile.KMeans(3, random_state=0, max_iter=2).fit(x).predict(x)
        meanwhile.LogisticRegression(max_iter=2).fit(x, y).predict(x)

    for _ in range(20):
        fit()
    before = resident()
    for _ in range(100):
        fit()
    # A copy of the rows that stayed would be 80 MB.
    assert resident() - before < 16 * 2**20


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
