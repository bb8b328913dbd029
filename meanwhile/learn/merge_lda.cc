// Cost: K^2 V for the similarities of K topics of V words, K^3 for the assignment (the Hungarian
// method with potentials: Kuhn 1955, Munkres 1957).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/learn/lda/model.h"
#include "meanwhile/learn/lda/sampled/count_lists.h"
#include "meanwhile/learn/merge_parts.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn {

namespace {

// sqrt of each topic's distribution over words, words x topics.
std::vector<double> root_shares(std::span<const double> lambda, std::size_t topics) {
  std::vector<double> sums(topics, 0.0), roots(lambda.size());
  for (std::size_t i = 0; i < lambda.size(); ++i) sums[i % topics] += lambda[i];
  for (std::size_t i = 0; i < lambda.size(); ++i) {
    roots[i] = std::sqrt(lambda[i] / sums[i % topics]);
  }
  return roots;
}

// The column for each row of a square matrix, so that the costs of these cells are least together.
std::vector<std::size_t> assign_least(const std::vector<double>& costs, std::size_t n) {
  // Rows and columns count from 1; 0 stands for none.
  std::vector<double> u(n + 1, 0.0), v(n + 1, 0.0);
  std::vector<std::size_t> row_of(n + 1, 0), from(n + 1, 0);
  for (std::size_t row = 1; row <= n; ++row) {
    std::vector<double> least(n + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> used(n + 1, false);
    row_of[0] = row;
    std::size_t column = 0;
    while (row_of[column] != 0) {
      used[column] = true;
      const std::size_t at = row_of[column];
      double delta = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const double cost = costs[(at - 1) * n + j - 1] - u[at] - v[j];
        if (cost < least[j]) {
          least[j] = cost;
          from[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    }
    while (column != 0) {
      row_of[column] = row_of[from[column]];
      column = from[column];
    }
  }
  std::vector<std::size_t> column_of(n);
  for (std::size_t j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

void check_topics(const MergeInput& one, const lda::Model& first, const MergeInput& other,
                  const lda::Model& model) {
  if (model.topics != first.topics) {
    refuse_merge(one, other,
                 fmt::format("the first has {}, the second {}",
                             base::counted(first.topics, "topic"), model.topics));
  }
  if (model.words != first.words) {
    refuse_merge(one, other,
                 fmt::format("the first has {}, the second {}", base::counted(first.words, "word"),
                             model.words));
  }
  const bool named = first.vocabulary != nullptr;
  if (named != (model.vocabulary != nullptr) ||
      (named && first.vocabulary->words() != model.vocabulary->words())) {
    refuse_merge(one, other, "their vocabularies differ; give both the same --vocabulary");
  }
  if (model.eta != first.eta) refuse_merge(one, other, "their priors `eta` differ");
}

}  // namespace

std::vector<std::size_t> match_topics(std::span<const double> one, std::span<const double> other,
                                      std::size_t topics) {
  const std::vector<double> mine = root_shares(one, topics), theirs = root_shares(other, topics);
  std::vector<double> costs(topics * topics, 0.0);
  for (std::size_t word = 0; word * topics < mine.size(); ++word) {
    for (std::size_t a = 0; a < topics; ++a) {
      const double share = mine[word * topics + a];
      for (std::size_t b = 0; b < topics; ++b) {
        costs[a * topics + b] -= share * theirs[word * topics + b];
      }
    }
  }
  return assign_least(costs, topics);
}

MergedParts merge_lda(std::span<const MergeInput> models) {
  MergedParts merged;
  lda::Model all;
  for (const MergeInput& input : models) {
    if (input.file->has(lda::sampled::kCountStart)) {
      throw base::Error(base::ErrorKind::kUsage,
                        "{}: counts of `sampler` mh are of topics that were drawn together; train "
                        "on all documents instead",
                        input.path.string());
    }
    lda::Model model = lda::load_model(*input.file);
    merged.weights.push_back(model.documents);
    if (all.topics == 0) {
      all = std::move(model);
      continue;
    }
    check_topics(models.front(), all, input, model);
    const auto K = static_cast<std::size_t>(all.topics);
    const std::vector<std::size_t> theirs = match_topics(all.lambda, model.lambda, K);
    const double documents = all.documents + model.documents;
    const double share = documents > 0 ? model.documents / documents : 0.5;
    for (std::size_t word = 0; word * K < all.lambda.size(); ++word) {
      for (std::size_t k = 0; k < K; ++k) {
        all.lambda[word * K + k] += model.lambda[word * K + theirs[k]] - model.eta;
      }
      all.word_counts[word] += model.word_counts[word];
    }
    for (std::size_t k = 0; k < K; ++k) {
      all.alpha[k] += share * (model.alpha[theirs[k]] - all.alpha[k]);
    }
    all.documents = documents;
    all.tokens += model.tokens;
  }
  // Rounding may take a count of nothing below the prior.
  for (double& value : all.lambda) value = std::max(value, all.eta * 1e-3);
  merged.tensors["lambda"] = {{all.words, all.topics}, all.lambda};
  merged.tensors["alpha"] = {{all.topics}, all.alpha};
  merged.tensors["word_counts"] = {{all.words}, all.word_counts};
  const data::SafetensorsFile& first = *models.front().file;
  merged.parameters = metadata_json(first, "parameters", lda::kWhat);
  merged.about = metadata_json(first, "about", lda::kWhat);
  merged.about["documents"] = all.documents;
  merged.about["tokens"] = all.tokens;
  merged.about["eta"] = all.eta;
  // Words that occur together are counted for the top words of a topic, which have changed.
  merged.about.erase("counted");
  return merged;
}

}  // namespace meanwhile::learn
