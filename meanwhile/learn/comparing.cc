#include "meanwhile/learn/comparing.h"

#include "meanwhile/learn/linear/linear.h"

namespace meanwhile::learn {

namespace {

// Linear models along penalties, from the strongest.
Comparing along_penalties(linear::Kind kind, std::vector<Comparing::Score> scores) {
  Comparing comparing{.scores = std::move(scores), .path = "l2", .descending = true};
  comparing.follow = [kind](const data::SafetensorsFile& before, const data::SafetensorsFile& last,
                            double share, const Json& parameters) {
    auto next = std::make_unique<linear::Linear>(kind, linear::parameters_from_json(parameters));
    next->follow(before, last, share);
    return next;
  };
  return comparing;
}

}  // namespace

Comparing comparing_of(std::string_view learner) {
  const Comparing::Score accuracy{"accuracy", true}, auc{"auc", true}, loss{"loss"};
  const Comparing::Score balanced{"balanced_accuracy", true}, f1{"f1", true};
  const Comparing::Score macro{"f1_macro", true}, weighted{"f1_weighted", true};
  if (learner == "kmeans") {
    return {.scores = {{"silhouette", true}}, .clusters = true, .path = "n_clusters"};
  }
  if (learner == "logistic") {
    return along_penalties(linear::Kind::kLogistic,
                           {accuracy, {"log_loss"}, auc, loss, balanced, f1, macro, weighted});
  }
  if (learner == "svm")
    return along_penalties(linear::Kind::kSvm,
                           {accuracy, auc, loss, balanced, f1, macro, weighted});
  if (learner == "linear") {
    return along_penalties(linear::Kind::kLinear, {{"r2", true}, {"rmse"}, {"mae"}, loss});
  }
  if (learner == "lda") {
    return {.scores = {{"perplexity"}, {"perplexity_bound"}, {"coherence_npmi", true}}};
  }
  return {};
}

}  // namespace meanwhile::learn
