#include "meanwhile/learn/comparing.h"

namespace meanwhile::learn {

Comparing comparing_of(std::string_view learner) {
  const Comparing::Score accuracy{"accuracy", true}, auc{"auc", true}, loss{"loss"};
  if (learner == "kmeans") {
    return {.scores = {{"silhouette", true}}, .clusters = true, .path = "n_clusters"};
  }
  if (learner == "logistic") {
    return {.scores = {accuracy, {"log_loss"}, auc, loss}, .path = "l2", .descending = true};
  }
  if (learner == "svm") return {.scores = {accuracy, auc, loss}, .path = "l2", .descending = true};
  if (learner == "linear") {
    return {.scores = {{"r2", true}, {"rmse"}, {"mae"}, loss}, .path = "l2", .descending = true};
  }
  if (learner == "lda") {
    return {.scores = {{"perplexity"}, {"perplexity_bound"}, {"coherence_npmi", true}}};
  }
  return {};
}

}  // namespace meanwhile::learn
