"""Plans: how many machines, how long, how much, before anything is started."""

import json
import pathlib
import subprocess
import sys
import tempfile

from . import _native


class Plan:
    """What ``meanwhile plan`` says of a job.

    :ivar best: the number of workers to take, with its seconds, price and the reason.
    :ivar points: the same numbers for every number of workers that was looked at.
    :ivar about: learner, machine, shape of the data, rounds, the error to expect.
    :ivar svg: the picture that the program draws.
    """

    def __init__(self, answer, svg):
        answer = dict(answer)
        self.best = answer.pop('best')
        self.points = answer.pop('points')
        self.about = answer
        self.svg = svg

    def __repr__(self):
        best, about = self.best, self.about
        return (
            f'Plan({about["learner"]} on {about["machine"]}: {best["workers"]} workers, '
            f'{best["total_seconds"]:.3g} s, {best["total_price"]:.3g}: {best["why"]})'
        )

    def _repr_svg_(self):
        return self.svg

    def plot(self, axes=None):
        """Draws seconds against workers on ``axes`` of matplotlib, with the error to expect as a band; None: on
        new ones. Returns the axes. Without matplotlib, a notebook shows ``plan`` itself."""
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    'plot() needs matplotlib: pip install matplotlib; .svg is a picture that needs nothing'
                ) from error
            axes = pyplot.subplots()[1]
        workers = [point['workers'] for point in self.points]
        seconds = [point['total_seconds'] for point in self.points]
        error = 1 + self.about['error']
        axes.plot(workers, seconds, label='predicted')
        axes.fill_between(workers, [s / error for s in seconds], [s * error for s in seconds], alpha=0.2)
        axes.plot([self.best['workers']], [self.best['total_seconds']], 'o', label='best')
        axes.set(xlabel='workers', ylabel='seconds', yscale='log', title=f'{self.about["learner"]} on {self.about["machine"]}')
        axes.legend()
        return axes


def plan(learner, *, rows, dims, machine=None, runtime=None, workers=None, deadline=None, budget=None, **parameters):
    """Plans a job of ``rows`` rows and ``dims`` columns.

    :param learner: its name, such as "kmeans".
    :param machine: a profile, such as "azure-small", or a file; None: this machine's, or a generic one.
    :param runtime: "threads", "mpi" or "storage"; None: as the machine suggests.
    :param workers: numbers of workers to look at: a range, a list, or text such as "1..128".
    :param deadline: be done in time, such as "30m" or seconds, as cheaply as can be.
    :param budget: pay no more than this.
    :param parameters: the learner's parameters by name, and other flags of ``meanwhile plan`` with
        underscores, such as ``nonzeros``.

    >>> plan('kmeans', rows=10**6, dims=100, n_clusters=50, machine='azure-small').best['workers'] >= 1
    True
    """
    flags = {'rows': int(rows), 'dims': int(dims), 'machine': machine, 'runtime': runtime}
    if workers is not None and not isinstance(workers, str):
        workers = ','.join(str(int(each)) for each in workers)
    flags |= {'workers': workers, 'deadline': deadline, 'budget': budget, **parameters}
    command = [sys.executable, '-m', 'meanwhile', 'plan', learner, '--json']
    for name, value in flags.items():
        if value is None:
            continue
        flag = '--' + name.replace('_', '-')
        command += [f'{flag}={str(value).lower()}' if isinstance(value, bool) else f'{flag}={value}']
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder) / 'plan.svg'
        ran = subprocess.run([*command, f'--svg={picture}'], capture_output=True, text=True, check=False)
        # With a wish that cannot be met there is an answer, too: the nearest.
        if not ran.stdout.strip():
            raise _native.UsageError(ran.stderr.strip().removeprefix('meanwhile: ') or 'the plan failed')
        return Plan(json.loads(ran.stdout), picture.read_text(encoding='utf-8'))
