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

// Unit in which steps are counted.
enum class StepBy { kDocuments, kRounds };
inline constexpr Named<StepBy> kStepBys[] = {{StepBy::kDocuments, "documents"},
                                             {StepBy::kRounds, "rounds"}};
constexpr std::span<const Named<StepBy>> names(StepBy) { return kStepBys; }

struct Parameters {
  std::int64_t n_topics = 100;
  std::int64_t passes = 10;
  Send send = Send::kGradient;
  std::int64_t batch_size = 0;
  std::int64_t max_documents = 0;
  double kappa = 0.9;
  double tau0 = 0;
  StepBy step_by = StepBy::kDocuments;
  double total_documents = 0;
  double alpha = 0;
  bool learn_alpha = true;
  double eta = 0;
  Init init = Init::kDocuments;
  double inference_tol = 0.02;
  double inference_change = 0;
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
  visit("passes", p.passes, "most passes over all documents; 200 with --sampler mh");
  visit("send", p.send,
        "content of an update. gradient: the statistics of the round's documents, "
        "for one step; model: topics that every document has changed, to be "
        "averaged, which suits very few rounds or random first topics");
  visit("batch_size", p.batch_size,
        "documents in a round, over all shards; 0: an eighth of all, at least 512 "
        "and at most half");
  visit("max_documents", p.max_documents,
        "stop after the round that brings the documents seen to this number; 0: no limit");
  visit("kappa", p.kappa,
        "decay of the step size, (tau0 + t)^-kappa; above 0.5, at most 1; with step_by rounds from "
        "0, where each round replaces the topics");
  visit("tau0", p.tau0,
        "offset of the step size, in documents; 0: four fifths of the documents, but "
        "at most 1,000 for each topic");
  visit("step_by", p.step_by,
        "unit of t in the step size: documents; or rounds, where a step of (tau0 + t)^-kappa is "
        "taken as it is, with send gradient");
  visit("total_documents", p.total_documents,
        "number of documents that those of a round stand for; 0: all that were seen");
  visit("alpha", p.alpha, "prior weight of each topic in a document; 0: 1 / n_topics");
  visit("learn_alpha", p.learn_alpha, "learn alpha during training, one for each topic");
  visit("eta", p.eta, "prior weight of each word in a topic; 0: 1 / n_topics");
  visit("init", p.init,
        "initial topics: documents (those of a sample that are most like the "
        "others), or random");
  visit("inference_tol", p.inference_tol,
        "tolerance of the inference for a document: largest change of its topic "
        "counts, as a fraction of its words");
  visit("inference_change", p.inference_change,
        "mean change of a document's topic counts that ends its inference, instead of "
        "inference_tol; 0: by inference_tol");
  visit("inference_max_iter", p.inference_max_iter,
        "most iterations of the inference for a document");
  visit("precision", p.precision,
        "precision of the inference in training: single (digamma to 1e-6), or double "
        "(4e-15)");
  visit("tol", p.tol, "stop when a pass gains less than this, in nats per word; 0: do all passes");
  visit("sampler", p.sampler,
        "none: variational inference; mh: the topic of every token is drawn by Metropolis-Hastings "
        "in constant time, for many topics and passes");
  visit("sweeps", p.sweeps, "mh: number of times that a pass draws each token");
  visit("learn_eta", p.learn_eta, "mh: learn eta during training");
  visit("exact", p.exact,
        "mh: draw the topics' words from their posterior before each round, so that "
        "passes are exact samples of the posterior; costs words x topics, and priors "
        "stay fixed");
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
void validate(const Parameters& parameters);

Json to_json(const Parameters& parameters);
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::lda
