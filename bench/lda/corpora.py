"""The corpora that are compared on: one generated, three real ones when their files are there.

Each is written once into the cache as two UCI docwords, which all systems read: training documents and held-out ones
(of a real corpus every tenth document that is not empty).
"""

import dataclasses
import gzip
import pathlib

import corpus
import numpy as np
import score

CACHE = pathlib.Path("build/bench/lda")
GENERATED = dict(documents=50_000, held=1_000, words=20_000, topics=100, alpha=0.01, eta=0.0135, length=120, seed=1)
REAL = {"nips": "nips/docword.nips.txt.gz", "ap": "ap/ap.dat.gz", "20news": "20newsgroups/docword.20news.txt.gz"}
MORE = {"imdb": "imdb-reviews/imdb_train.svm.gz"}  # of shards.py


@dataclasses.dataclass
class Corpus:
    name: str
    topics: int
    passes: int
    train: pathlib.Path
    held: pathlib.Path
    documents: int
    scorer: score.Scorer
    truth: float | None  # perplexity under the topics that the corpus was drawn from
    unigram: float  # and under one topic, the words' shares in training: what knowing no topics gives

    @property
    def prior(self):
        return 1 / self.topics


def read_lda_c(path, first=0):
    """Lines 'M id:count ...', ids from `first`; libsvm is the same with a label for M, and ids from 1."""
    import scipy.sparse
    data, indices, starts = [], [], [0]
    with gzip.open(path, "rt") as lines:
        for line in lines:
            for pair in line.split()[1:]:
                word, count = pair.split(":")
                indices.append(int(word) - first)
                data.append(int(count))
            starts.append(len(data))
    return scipy.sparse.csr_matrix((data, indices, starts))


def write(path, matrix):
    matrix.sort_indices()
    triples = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices, matrix.data
    corpus.write_docword(path, *matrix.shape, triples)


def split(name, source):
    if str(source).endswith(".svm.gz"):
        matrix = read_lda_c(source, 1)
    else:
        matrix = read_lda_c(source) if str(source).endswith(".dat.gz") else score.read_docword(source)
    matrix = matrix[np.diff(matrix.indptr) > 0]
    held = np.arange(matrix.shape[0]) % 10 == 9
    write(CACHE / f"{name}.held.txt", matrix[held])
    write(CACHE / f"{name}.docword.txt", matrix[~held])  # the last to be written: where it is, all is


def files(name):
    return CACHE / f"{name}.docword.txt", CACHE / f"{name}.held.txt"


def made(folder, name):
    """Makes the files of a corpus where they are missing; what cannot be made is said."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if name == "generated":
        marker = CACHE / f"generated-{'-'.join(map(str, GENERATED.values()))}"
        if not marker.exists():
            corpus.generate(CACHE, "generated", **GENERATED)
            marker.touch()
        return True
    source = folder / {**REAL, **MORE}[name]
    if not files(name)[0].exists():
        if not source.exists():
            print(f"{name}: left out, there is no {source} (--real, or MEANWHILE_DATA)", flush=True)
            return False
        split(name, source)
    return True


def load(name, topics, passes):
    train, held = files(name)
    counts = score.read_docword(train)
    prior = np.full(topics, 1 / topics)
    scorer = score.Scorer(held, prior)
    truth = CACHE / f"{name}.topics.npy"
    shares = np.asarray(counts.sum(0), np.float64).reshape(1, -1) + 1 / topics
    unigram = score.Scorer(held, np.ones(1))(shares)
    return Corpus(name, topics, passes, train, held, counts.shape[0], scorer,
                  scorer(np.load(truth)) if truth.exists() else None, unigram)


def all_of(folder, only, topics, passes, generated_passes):
    """Yields those whose name contains `only`; what is missing is said."""
    if only in "generated" and made(folder, "generated"):
        yield load("generated", GENERATED["topics"], generated_passes)
    for name in REAL:
        if only in name and made(folder, name):
            yield load(name, topics, passes)
