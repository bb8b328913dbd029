"""Runs that the command line or an estimator left behind."""

import json
import os
import pathlib

import numpy as np

from . import _native


class Run:
    """A run directory, or a model file, as :func:`load` opens it. Attributes are read when asked for.

    :ivar path: the directory or file.
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self._model = None

    @property
    def model(self):
        """The newest model of the run."""
        if self._model is None:
            self._model = _native.load_model(self.path)
        return self._model

    @property
    def record(self):
        """What run.json says: what was asked, what ran, how it ended."""
        return _native.read_run(self.path) if self.path.is_dir() else {}

    @property
    def params(self):
        """The parameters, all of them, by name."""
        return self.record.get('parameters') or self.model.parameters

    @property
    def lines(self):
        """A dict for each line of metrics.jsonl."""
        path = self.path / 'metrics.jsonl'
        if not path.is_file():
            return []
        with open(path, encoding='utf-8') as file:
            return [json.loads(line) for line in file]

    @property
    def history(self):
        """Numbers of the rounds of training by name, as arrays: round, objective, seconds, elapsed_s and
        what the learner measures. NaN where a round has no such number."""
        return history_of(self.lines)

    def save(self, path):
        """Writes the model to ``path``: a file when it ends in ``.safetensors``, else a run directory."""
        self.model.save(path)

    def __repr__(self):
        return f'Run({os.fspath(self.path)!r})'


def load(path):
    """The run at ``path``: a run directory or a model file.

    Raises :class:`InputError` when there is none.
    """
    run = Run(path)
    if not run.path.exists():
        raise _native.InputError(f'{run.path}: no such run directory or model file')
    return run


def history_of(lines):
    """Lines of rounds as arrays by name."""
    rounds = [line for line in lines if 'round' in line]
    names = {
        name: None
        for line in rounds
        for name, value in line.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }

    def numbers(name):
        values = [line.get(name) for line in rounds]
        if all(isinstance(value, int) for value in values):
            return np.array(values, dtype=np.int64)
        return np.array([np.nan if not isinstance(value, (int, float)) else value for value in values], dtype=float)

    return {name: numbers(name) for name in names}
