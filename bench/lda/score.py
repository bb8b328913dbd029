"""Held-out perplexity by document completion: one scorer, apart from every system it scores.

The tokens of each held-out document are shuffled (from a seed and the document's number) and split in halves. Given
topics (each a distribution over the words), the document's mixture is inferred from the first half by mean-field
updates in float64, to convergence; the second half is scored under it:
    perplexity = exp(-sum over tokens of log(mixture . topics[:, word]) / number of tokens).
Alpha is the same for all that are compared. Topics that give a word nothing are taken as giving it 1e-12.
"""

import argparse
import gzip
import pathlib

import numpy as np
from scipy.special import digamma

FLOOR = 1e-12


def read_docword(path):
    """A CSR matrix documents x words."""
    import scipy.sparse
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt") as lines:
        documents, words, _ = (int(next(lines)) for _ in range(3))
        triples = np.array(lines.read().split(), np.int64).reshape(-1, 3)
    return scipy.sparse.csr_matrix((triples[:, 2], (triples[:, 0] - 1, triples[:, 1] - 1)), (documents, words))


def halves(held, seed=0):
    """Per document of at least two tokens: words and counts of either half."""
    split = []
    for d in range(held.shape[0]):
        row = slice(held.indptr[d], held.indptr[d + 1])
        tokens = np.repeat(held.indices[row], held.data[row].astype(np.int64))
        if len(tokens) < 2:
            continue
        tokens = np.random.default_rng([seed, d]).permutation(np.sort(tokens))
        middle = (len(tokens) + 1) // 2
        split.append((np.unique(tokens[:middle], return_counts=True), np.unique(tokens[middle:], return_counts=True)))
    return split


def infer(beta, counts, alpha, tol, max_iter):
    """The mean of the mixture's mean-field posterior. beta: words of the document x topics."""
    gamma = alpha + counts.sum() / len(alpha)
    for _ in range(max_iter):
        weight = np.exp(digamma(gamma) - digamma(gamma.sum()))
        new = alpha + weight * ((counts / (beta @ weight)) @ beta)
        moved = np.abs(new - gamma).sum()
        gamma = new
        if moved < tol * counts.sum():
            break
    return gamma / gamma.sum()


class Scorer:
    def __init__(self, held, alpha, seed=0, tol=1e-7, max_iter=2000):
        """held: CSR or the path of a docword; alpha: the mixture's prior, of as many entries as there are topics."""
        self.split = halves(held if hasattr(held, "indptr") else read_docword(held), seed)
        self.alpha, self.tol, self.max_iter = np.asarray(alpha, np.float64), tol, max_iter

    def __call__(self, topics):
        """topics x words, not necessarily normalised. The perplexity of the second halves."""
        phi = np.asarray(topics, np.float64)
        phi = np.maximum(phi / phi.sum(1, keepdims=True), FLOOR)
        by_word = np.ascontiguousarray(phi.T)
        total, tokens = 0.0, 0
        for (words, counts), (asked, times) in self.split:
            mixture = infer(by_word[words], counts, self.alpha, self.tol, self.max_iter)
            total += times @ np.log(by_word[asked] @ mixture)
            tokens += times.sum()
        return float(np.exp(-total / tokens))


def load_topics(path):
    """From .npy (topics x words), or the lambda (words x topics) of a model.safetensors."""
    if str(path).endswith(".npy"):
        return np.load(path)
    from safetensors.numpy import load_file
    return load_file(path)["lambda"].T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("held", help="docword of the held-out documents")
    parser.add_argument("topics", nargs="+", type=pathlib.Path, help=".npy, .safetensors, or the folder of a run")
    parser.add_argument("--alpha", type=float, help="default: 1 / number of topics")
    arguments = parser.parse_args()
    held = read_docword(arguments.held)
    for path in arguments.topics:
        topics = load_topics(path / "model.safetensors" if path.is_dir() else path)
        alpha = arguments.alpha or 1 / len(topics)
        print(f"{path}: {Scorer(held, np.full(len(topics), alpha))(topics):.1f}", flush=True)


if __name__ == "__main__":
    main()
