"""Topic models of others, each trained in a process of its own.

The corpus is in memory in the form the peer prefers before the clock starts (scikit-learn: CSR; gensim: a list of
lists of pairs); what is timed is training alone. The process writes the topics as .npy (topics x words, not
normalised) and prints the seconds as a line of JSON.
"""

import argparse
import json
import logging
import time
import warnings

import numpy as np
import score


def train_sklearn(corpus, task):
    from sklearn.decomposition import LatentDirichletAllocation
    model = LatentDirichletAllocation(task["topics"], doc_topic_prior=task["alpha"], topic_word_prior=task["eta"],
                                      learning_method="online", batch_size=task.get("batch") or 128, max_iter=task["passes"],
                                      evaluate_every=0, n_jobs=task["jobs"], random_state=task["seed"])
    begin = time.perf_counter()
    model.fit(corpus)
    return time.perf_counter() - begin, model.components_


def train_gensim(corpus, task):
    from gensim.models import LdaModel, LdaMulticore
    documents = [list(zip(corpus.indices[b:e].tolist(), corpus.data[b:e].tolist()))
                 for b, e in zip(corpus.indptr[:-1], corpus.indptr[1:])]
    words = {w: str(w) for w in range(corpus.shape[1])}
    topics = task["topics"]
    settings = dict(num_topics=topics, id2word=words, alpha=np.full(topics, task["alpha"], np.float32), eta=task["eta"],
                    passes=task["passes"], chunksize=task.get("batch") or 2000, eval_every=None, random_state=task["seed"])
    begin = time.perf_counter()
    # Without workers it is LdaModel: the same updates, in this process.
    model = LdaMulticore(documents, workers=task["jobs"], **settings) if task["jobs"] else LdaModel(documents, **settings)
    return time.perf_counter() - begin, model.state.get_lambda()


PEERS = {"scikit-learn": train_sklearn, "gensim": train_gensim}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("docword")
    parser.add_argument("out", help="the topics, .npy")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--alpha", type=float, help="default: 1 / topics")
    parser.add_argument("--eta", type=float, help="default: 1 / topics")
    parser.add_argument("--batch", type=int, help="default: the peer's")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    task = vars(parser.parse_args())
    task["alpha"] = task["alpha"] or 1 / task["topics"]
    task["eta"] = task["eta"] or 1 / task["topics"]
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    seconds, topics = PEERS[task["peer"]](score.read_docword(task["docword"]), task)
    np.save(task["out"], topics)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
