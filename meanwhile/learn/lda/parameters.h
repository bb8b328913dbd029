// The parameters of LDA, each described once: name, meaning, default. The command line, the JSON of
// run.json and the model's metadata are made from this description.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/learn/learner.h"
#include "meanwhile/learn/send.h"

namespace meanwhile::learn::lda {

// Where the first topics come from: documents of a sample, or random numbers.
enum class Init { kDocuments, kRandom };
inline constexpr Named<Init> kInits[] = {{Init::kDocuments, "documents"},
                                         {Init::kRandom, "random"}};
constexpr std::span<const Named<Init>> names(Init) { return kInits; }

enum class Precision { kSingle, kDouble };
inline constexpr Named<Precision> kPrecisions[] = {{Precision::kSingle, "single"},
                                                   {Precision::kDouble, "double"}};
constexpr std::span<const Named<Precision>> names(Precision) { return kPrecisions; }

// How topics are inferred: none draws nothing.
enum class Sampler { kNone, kMh };
inline constexpr Named<Sampler> kSamplers[] = {{Sampler::kNone, "none"}, {Sampler::kMh, "mh"}};
constexpr std::span<const Named<Sampler>> names(Sampler) { return kSamplers; }

struct Parameters {
  std::int64_t n_topics = 100;
  std::int64_t passes = 10;
  Send send = Send::kGradient;
  std::int64_t batch_size = 0;
  std::int64_t max_documents = 0;
  double kappa = 0.9;
  double tau0 = 0;
  double alpha = 0;
  bool learn_alpha = true;
  double eta = 0;
  Init init = Init::kDocuments;
  double inference_tol = 0.02;
  std::int64_t inference_max_iter = 100;
  Precision precision = Precision::kSingle;
  double tol = 1e-3;
  Sampler sampler = Sampler::kNone;
  std::int64_t sweeps = 1;
  bool learn_eta = true;
  bool exact = false;
};

// Calls visit(name, field, help) for each parameter.
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("n_topics", p.n_topics, "number of topics");
  visit("passes", p.passes, "over all documents, at most; with sampler mh 200 if left out");
  visit("send", p.send,
        "gradient: one step a round, from the statistics of all its documents; model: every "
        "document changes the local topics, which are averaged after each round: for very few "
        "rounds, or random first topics");
  visit("batch_size", p.batch_size,
        "documents of a round, of all shards; 0: an eighth of them, but at least 512 (and no more "
        "than "
        "half of them)");
  visit("max_documents", p.max_documents,
        "stop after the round that brings the documents seen to this number; 0: no limit");
  visit("kappa", p.kappa, "steps fall as (tau0 + t)^-kappa; from above 0.5 to 1");
  visit("tau0", p.tau0,
        "t counts the documents of all shards, this is added; 0: as many as four fifths of the "
        "data, but at most 1,000 documents for each topic");
  visit("alpha", p.alpha, "prior of a document's topics, for each; 0: 1 / n_topics");
  visit("learn_alpha", p.learn_alpha, "learn alpha, one for each topic, as training goes on");
  visit("eta", p.eta, "prior of a topic's words, for each; 0: 1 / n_topics");
  visit("init", p.init,
        "first topics: documents (of a sample, those that stand for most others), or random");
  visit("inference_tol", p.inference_tol,
        "of a document: stop when its topic counts changed by less than this part of its words");
  visit("inference_max_iter", p.inference_max_iter, "of a document, at most");
  visit("precision", p.precision,
        "of inference while training: single (digamma to 1e-6), or double (4e-15)");
  visit("tol", p.tol,
        "stop when a pass gained less than this, in nats a word; 0: after all passes");
  visit("sampler", p.sampler,
        "none: variational inference; mh: the topic of every token is drawn by Metropolis-Hastings "
        "in constant time, for many topics and passes");
  visit("sweeps", p.sweeps, "of mh: times that a pass draws each token");
  visit("learn_eta", p.learn_eta, "of mh: learn eta as training goes on");
  visit("exact", p.exact,
        "of mh: draw the topics' words from their posterior before each round, so that passes are "
        "samples of the posterior itself; costs words x topics, and priors stay as they are");
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
void validate(const Parameters& parameters);

Json to_json(const Parameters& parameters);
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::lda
