"""A generated corpus with known topics: what a topic model can find at best is then known, too.

Topics are drawn from Dirichlet(eta) over the words, the mixture of a document from Dirichlet(alpha) over the
topics, its length from Poisson. Writes NAME.docword.txt and NAME.held.txt (UCI: number of documents, of words, of
lines; then document, word and count, both from 1), NAME.topics.npy (topics x words) and NAME.alpha.npy.
"""

import argparse
import pathlib

import numpy as np


def draw_topics(topics, words, eta, rng):
    phi = rng.standard_gamma(eta, (topics, words)) + 1e-300  # a gamma of so small a shape may be 0
    return phi / phi.sum(1, keepdims=True)


def draw_documents(documents, phi, alpha, length, rng):
    """Arrays of documents, words and counts, sorted by document, then word. No document is empty."""
    topics, words = phi.shape
    lengths = np.maximum(rng.poisson(length, documents), 1)
    mixture = rng.dirichlet(np.full(topics, alpha), documents)
    document = np.repeat(np.arange(documents), lengths)
    cumulative = mixture.cumsum(1)
    cumulative[:, -1] = 1
    # One search for all: document d's part of the line is [d, d + 1].
    line = (cumulative + np.arange(documents)[:, None]).ravel()
    topic = np.searchsorted(line, rng.random(len(document)) + document, side="right") - document * topics
    topic = np.clip(topic, 0, topics - 1)
    word = np.empty(len(document), np.int64)
    for k in range(topics):
        here = topic == k
        word[here] = np.minimum(np.searchsorted(phi[k].cumsum(), rng.random(here.sum()), side="right"), words - 1)
    pair, count = np.unique(document * words + word, return_counts=True)
    return pair // words, pair % words, count


def write_docword(path, documents, words, triples):
    document, word, count = triples
    with open(path, "w") as out:
        out.write(f"{documents}\n{words}\n{len(count)}\n")
        out.write("\n".join(f"{d} {w} {c}" for d, w, c in zip((document + 1).tolist(), (word + 1).tolist(), count.tolist())))
        out.write("\n")


def generate(folder, name="gen", documents=50_000, held=1_000, words=20_000, topics=100, alpha=0.01, eta=0.0135, length=120, seed=1):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    phi = draw_topics(topics, words, eta, rng)
    for kind, count in (("docword", documents), ("held", held)):
        write_docword(folder / f"{name}.{kind}.txt", count, words, draw_documents(count, phi, alpha, length, rng))
    np.save(folder / f"{name}.topics.npy", phi)
    np.save(folder / f"{name}.alpha.npy", np.full(topics, alpha))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--name", default="gen")
    for flag, kind, default in (("documents", int, 50_000), ("held", int, 1_000), ("words", int, 20_000), ("topics", int, 100),
                                ("alpha", float, 0.01), ("eta", float, 0.0135), ("length", float, 120), ("seed", int, 1)):
        parser.add_argument(f"--{flag}", type=kind, default=default)
    generate(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
