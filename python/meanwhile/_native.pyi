"""The compiled part of the package: rows, runs, models and plans, without any opinion of scikit-learn.

Everything here is a thin shell round the C++ library: parameters, defaults, checks and messages are
the library's. Estimators, and what a user meets, are written in Python on top.

Build it in place, into ``build/python/site``, where Python files are links to this tree::

    scripts/python.sh develop
    PYTHONPATH=build/python/site build/python/venv/bin/python -c 'import meanwhile'

Threads: no thread is alive between calls. Each call makes the ``threads`` it is told (0: all that
the process may run on) and joins them. The GIL is released while rows are read, models trained and
rows predicted; signals are looked at every 50 ms.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

__version__: str

class Error(Exception):
    """Something that ended a call. Messages name parameters as keywords: ``n_clusters=``."""

class UsageError(Error, ValueError):
    """An argument is wrong."""

class InputError(Error, ValueError):
    """The rows, or a file, are not what the call needs."""

class HostError(Error, OSError):
    """The operating system refused: no memory, no space, no such file."""

class FailedError(Error, RuntimeError):
    """The computation cannot go on: it diverged, or a worker was lost."""

class Parameter(TypedDict):
    """One parameter of a learner, as ``meanwhile train LEARNER --help`` shows it."""

    name: str
    help: str
    type: Literal["whole", "real", "boolean", "choice", "text"]
    default: Any  # None: not set
    choices: list[str]  # of a choice; a text with choices takes other text, too
    other_text: str  # what that other text is, such as "FILE"
    least: int  # the least value of a whole or real number
    automatic: bool  # a whole number that takes "auto", too
    fixed: bool  # cannot change once there is a model to go on from
    rare: bool

class Learner(TypedDict):
    name: str
    summary: str
    parameters: list[Parameter]
    classes: bool  # labels are classes
    held_out: bool  # measures itself on held-out rows while it trains
    of_text: bool  # its columns are words, its values counts

def learners() -> list[Learner]:
    """All learners there are, with the schema of their parameters."""

class Rows:
    """A data set in memory: the matrix, labels, weights and names.

    Memory is borrowed where the layout allows it, and kept alive by this object and by whatever
    runs on it: the arrays must not change meanwhile. What cannot be borrowed is copied once.
    Estimators call ``meanwhile._data.rows``, which turns whatever a user has into this.
    """

    @staticmethod
    def dense(
        values: NDArray[np.float32] | NDArray[np.float64],
        *,
        labels: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        feature_names: Sequence[str] = (),
        class_names: Sequence[str] = (),
    ) -> Rows:
        """Rows of a C-contiguous matrix in native byte order and aligned, which is borrowed; it
        may be read-only. Labels and weights are borrowed, too, one a row.

        ``class_names``: labels are indices into them. Values are not checked here: training and
        prediction refuse NaN and infinity with row and column.

        Raises UsageError when shapes do not fit each other."""

    @staticmethod
    def sparse(
        row_start: NDArray[np.int32] | NDArray[np.int64],
        columns: NDArray[np.int32] | NDArray[np.int64],
        values: NDArray[np.float32] | NDArray[np.float64],
        n_columns: int,
        *,
        labels: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        feature_names: Sequence[str] = (),
        class_names: Sequence[str] = (),
    ) -> Rows:
        """Rows of a CSR matrix. Values are borrowed; so are 32-bit columns and 64-bit starts of
        rows. The library numbers columns in 32 bits and values in 64: 64-bit columns and 32-bit
        starts are copied.

        Raises InputError, with the row, when columns of a row do not ascend or are out of range,
        and when starts of rows do not."""

    @staticmethod
    def arrow(
        stream: object,
        *,
        dtype: Literal["float32", "float64"] | None = None,
        labels: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
        class_names: Sequence[str] = (),
        threads: int = 0,
    ) -> Rows:
        """Rows of a table: ``stream`` is a capsule named "arrow_array_stream", as
        ``table.__arrow_c_stream__()`` returns. Columns must be numbers or booleans; they are
        gathered into rows by ``threads``. ``dtype`` None: float32 when every column is float32 or
        a float16, else float64. Nulls are refused with row and column name."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> Literal["float32", "float64"]: ...
    @property
    def is_sparse(self) -> bool: ...
    @property
    def stored(self) -> int:
        """Values that are stored."""
    @property
    def nbytes(self) -> int: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def class_names(self) -> list[str]: ...
    @property
    def address(self) -> int:
        """Where the values lie; of borrowed rows, where the caller's array lies."""

    def sha256(self, threads: int = 0) -> str:
        """The hash that run.json and models carry as the hash of the data."""

    def check_finite(self, name: str = "X", threads: int = 0) -> None:
        """Raises InputError with row and column of the first value that is NaN or infinite."""

class Model:
    """A trained model, whatever learner made it. It is never changed. Thread-safe."""

    @property
    def learner(self) -> str: ...
    @property
    def sha256(self) -> str:
        """The hash of the tensors: the same for the same model, wherever it was trained."""
    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters, settled."""
    @property
    def rounds(self) -> int: ...
    @property
    def metadata(self) -> dict[str, str]:
        """What the header of the file holds, with about and progress as JSON texts."""
    @property
    def n_columns(self) -> int: ...
    @property
    def feature_names(self) -> list[str]: ...
    @property
    def has_labels(self) -> bool:
        """False: transform() is the answer of this model."""
    @property
    def classes(self) -> list[str]:
        """Names of the classes; none where labels are no classes."""
    @property
    def ended(self) -> str:
        """Why training ended, such as "converged: ..."; empty when it was stopped early."""

    def tensors(self) -> dict[str, NDArray[Any]]:
        """What was learned, by name: read-only views of the model's memory. doc/formats.md lists
        the tensors of each learner: ``centers`` of k-means, ``weights`` and ``intercepts`` ..."""

    def about(self) -> dict[str, Any]:
        """What the model says of itself beside its tensors: names of classes and words."""

    def describe(self) -> dict[str, Any]:
        """What ``meanwhile inspect --json`` shows."""

    def predict(self, rows: Rows, threads: int = 0) -> NDArray[np.float64]:
        """A label for each row: a cluster, a number, or an index into ``classes``' values as
        ``prediction_names`` tells.

        Raises UsageError when the model has no labels, InputError when columns do not fit."""

    def prediction_names(self) -> list[str]:
        """Not empty: what predict() returns are indices into this list."""

    def probabilities(self, rows: Rows, threads: int = 0) -> NDArray[np.float64]:
        """rows x classes. Raises UsageError when the model gives none."""

    def transform(self, rows: Rows, threads: int = 0) -> NDArray[np.float64]:
        """rows x anything: distances to centres (k-means), decision values (linear models), shares
        of topics (LDA)."""

    def evaluate(self, rows: Rows, threads: int = 0) -> dict[str, Any]:
        """Measures of the model on ``rows``, as ``meanwhile evaluate --json`` shows them."""

    def to_bytes(self) -> bytes:
        """The model as a safetensors file, sealed; what pickles of estimators hold."""

    @staticmethod
    def from_bytes(data: bytes) -> Model:
        """Raises InputError for bytes that are no model, or a damaged one."""

    def save(self, path: str | PathLike[str]) -> None:
        """Writes ``path``: a model file when the name ends in ".safetensors", else a run directory
        that ``meanwhile predict``, ``inspect`` and ``train --resume`` take. A run that is there is
        moved aside; any other thing there is an error."""

def load_model(path: str | PathLike[str]) -> Model:
    """The model of a run directory (its newest state) or of a model file."""

def read_run(path: str | PathLike[str]) -> dict[str, Any]:
    """The record of a run directory: its run.json, checked."""

class Result:
    """What a run made."""

    @property
    def model(self) -> Model: ...
    @property
    def record(self) -> dict[str, Any]:
        """What run.json holds: learner, parameters (settled), seed, shards, data, seconds, objective,
        rounds, stopped_because, finished, model_sha256 ..."""
    @property
    def history(self) -> list[dict[str, Any]]:
        """A line for each round of training or scoring, as in metrics.jsonl: round, objective,
        seconds, elapsed_s and the measures of the learner."""
    @property
    def notes(self) -> list[str]:
        """Remarks for the user: sentences without full stops, such as that rounds ran out."""
    @property
    def converged(self) -> bool:
        """True: a criterion of the learner holds."""
    @property
    def run_dir(self) -> str | None: ...
    @property
    def address(self) -> int:
        """Where the values lay that the learner saw; equal to ``Rows.address`` when nothing was
        copied on the way."""

def train(
    learner: str,
    rows: Rows,
    parameters: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
    shards: int | None = None,
    threads: int = 0,
    deal: Literal["content", "blocks"] | None = None,
    normalize: bool = False,
    tfidf: bool = False,
    eval: Rows | None = None,
    start: Model | None = None,
    run_dir: str | PathLike[str] | None = None,
    resume: bool = False,
    time_limit: float = 0,
    checkpoint_seconds: float = 10,
    callback: Callable[[dict[str, Any]], object] | None = None,
) -> Result:
    """Trains ``learner`` on ``rows``, through the same function as the command line: the same rows,
    parameters, seed and shards give the same model to the last bit.

    :param parameters: values by name, as in ``learners()``; None is "not set". Unknown names are
        refused. ``init`` of k-means takes the path of a file of first centres.
    :param seed: 0 where it is None (as in the run to resume, if there is one).
    :param shards: None: by the size of the data.
    :param deal: None: content up to 65,536 rows where the learner takes weights, else blocks.
    :param eval: held-out rows, for learners that look at some.
    :param start: a model to begin from, of the same learner: a warm start (``partial_fit``).
    :param run_dir: a run directory to keep, with checkpoints; None: nothing is written.
    :param resume: go on with the run in ``run_dir``. Rows must have the hash that the run recorded;
        other rows are refused (give ``start`` to begin from the model instead).
    :param callback: is called after each round with its line of the history, in the thread that
        called train(); what it raises ends the run and is raised here. When it returns True,
        training ends early, with the model as it is then.

    Ctrl-C ends training with KeyboardInterrupt, whose message says how to resume if there is a
    ``run_dir``."""

def run_program(command_line: Sequence[str]) -> int:
    """The program itself, with its name as the first word: what the command ``meanwhile`` calls.
    Returns its exit code. It takes over signals and writes to the output of the process."""
