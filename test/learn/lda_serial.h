// LDA by the equations of Hoffman and others (2010): dense, in double, one document after the
// other. Shares no code with the learner but the order of rows.
#pragma once

#include <cmath>
#include <vector>

#include "meanwhile/data/deal.h"
#include "meanwhile/learn/shuffled_rows.h"
#include "test/learn/lda_data.h"

namespace meanwhile::test {

// By recurrence to 20, then the asymptotic series.
inline double digamma(double x) {
  double below = 0;
  for (; x < 20; x += 1) below += 1 / x;
  const double r = 1 / (x * x);
  return std::log(x) - 0.5 / x -
         r * (1. / 12 - r * (1. / 120 - r * (1. / 252 - r * (1. / 240 - r / 132)))) - below;
}

struct SerialLda {
  const Documents& documents;
  std::size_t topics;
  double alpha, eta, kappa, tau0;
  std::int64_t iterations;  // of each document, no fewer
  std::uint64_t seed = 1;
  bool by_all = true;  // steps count the documents of all shards; otherwise as 0.1.0 did

  using Topics = std::vector<double>;  // words x topics

  double step(double t) const { return std::min(0.9, std::pow(tau0 + t, -kappa)); }

  // One step for the documents from `from` to `to`: as many small ones, in the limit.
  double step(double from, double to) const {
    double integral = 0;
    constexpr int kParts = 2000;  // Simpson's rule
    const double h = (to - from) / kParts;
    for (int i = 0; i <= kParts; ++i) {
      const double weight = i == 0 || i == kParts ? 1 : i % 2 == 1 ? 4 : 2;
      integral += weight * std::pow(tau0 + from + h * i, -kappa) * h / 3;
    }
    return 1 - std::exp(-integral);
  }

  // Documents that have words.
  double count() const {
    double with = 0;
    for (const auto& row : documents.rows) with += row.empty() ? 0 : 1;
    return with;
  }

  std::vector<std::int64_t> order(const data::Shard& shard, std::int64_t pass) const {
    const auto all = [](std::int64_t) { return false; };
    learn::ShuffledRows rows(shard, seed, static_cast<std::uint32_t>(pass), all);
    std::vector<std::int64_t> found;
    for (auto some = rows.next(); !some.empty(); some = rows.next()) {
      found.insert(found.end(), some.begin(), some.end());
    }
    return found;
  }

  // Adds to `to` the expected counts of the words of document `i` by topic.
  void expected_counts(const Topics& lambda, std::size_t i, Topics& to) const {
    const auto& row = documents.rows[i];
    std::vector<double> sums(topics, 0.0), gamma(topics);
    for (std::size_t j = 0; j < lambda.size(); ++j) sums[j % topics] += lambda[j];
    double tokens = 0;
    for (const auto& [word, n] : row) tokens += n;
    for (double& g : gamma) g = alpha + tokens / static_cast<double>(topics);
    const double weight = documents.weights.empty() ? 1 : documents.weights[i];
    for (std::int64_t iteration = 1; iteration <= iterations; ++iteration) {
      std::vector<double> next(topics, alpha);
      for (const auto& [word, n] : row) {
        const std::size_t at = static_cast<std::size_t>(word) * topics;
        std::vector<double> log_phi(topics);
        for (std::size_t k = 0; k < topics; ++k) {
          log_phi[k] = digamma(gamma[k]) + digamma(lambda[at + k]) - digamma(sums[k]);
        }
        const double largest = *std::max_element(log_phi.begin(), log_phi.end());
        double all = 0;
        for (const double value : log_phi) all += std::exp(value - largest);
        for (std::size_t k = 0; k < topics; ++k) {
          const double part = n * std::exp(log_phi[k] - largest) / all;
          next[k] += part;
          if (iteration == iterations) to[at + k] += weight * part;
        }
      }
      gamma = next;
    }
  }

  // `rounds` rounds with the statistics of all shards; `a_pass` make a pass.
  Topics by_statistics(Topics lambda, int shards, std::int64_t rounds, std::int64_t a_pass) const {
    const auto dealt = data::deal(static_cast<std::int64_t>(documents.rows.size()), shards, seed);
    for (std::int64_t round = 0; round < rounds; ++round) {
      Topics counts(lambda.size(), 0.0);
      double n = 0;
      for (const data::Shard& shard : dealt) {
        const auto rows = order(shard, round / a_pass);
        for (std::int64_t at = shard.rows * (round % a_pass) / a_pass;
             at < shard.rows * (round % a_pass + 1) / a_pass; ++at) {
          const auto i = static_cast<std::size_t>(rows[static_cast<std::size_t>(at)]);
          expected_counts(lambda, i, counts);
          n += documents.rows[i].empty() ? 0 : 1;
        }
      }
      if (n == 0) continue;
      const double done = static_cast<double>(round) / static_cast<double>(a_pass) * count();
      const double rho = by_all ? step(done, done + count() / static_cast<double>(a_pass))
                                : step(static_cast<double>(round));
      for (std::size_t j = 0; j < lambda.size(); ++j) {
        lambda[j] = (1 - rho) * lambda[j] + rho * (eta + count() / n * counts[j]);
      }
    }
    return lambda;
  }

  // The same with a step after every document of a shard; topics of shards are averaged, by their
  // documents of the round. Each step is that of as many documents as there are shards.
  Topics by_documents(Topics lambda, int shards, std::int64_t rounds, std::int64_t a_pass) const {
    const auto dealt = data::deal(static_cast<std::int64_t>(documents.rows.size()), shards, seed);
    for (std::int64_t round = 0; round < rounds; ++round) {
      Topics sum(lambda.size(), 0.0);
      double averaged = 0;
      for (const data::Shard& shard : dealt) {
        if (shard.rows == 0) continue;
        const auto rows = order(shard, round / a_pass);
        Topics local = lambda;
        const std::int64_t begin = shard.rows * (round % a_pass) / a_pass,
                           end = shard.rows * (round % a_pass + 1) / a_pass;
        const double weight = by_all ? static_cast<double>(end - begin) : 1;
        averaged += weight;
        // Rows of a round of all shards, for each of these; and documents that have words.
        const double each = static_cast<double>(documents.rows.size()) /
                            static_cast<double>(a_pass * std::max<std::int64_t>(1, end - begin));
        const double documents_each = each * count() / static_cast<double>(documents.rows.size());
        const double before = count() * static_cast<double>(round) / static_cast<double>(a_pass);
        for (std::int64_t at = begin; at < end; ++at) {
          const auto i = static_cast<std::size_t>(rows[static_cast<std::size_t>(at)]);
          if (documents.rows[i].empty()) continue;
          Topics counts(lambda.size(), 0.0);
          expected_counts(local, i, counts);
          const double from = before + documents_each * static_cast<double>(at - begin);
          const double rho = by_all
                                 ? step(from, from + each)
                                 : step(static_cast<double>(round / a_pass * shard.rows + at + 1));
          for (std::size_t j = 0; j < local.size(); ++j) {
            local[j] = (1 - rho) * local[j] + rho * (eta + count() * counts[j]);
          }
        }
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += weight * local[j];
      }
      for (std::size_t j = 0; j < sum.size(); ++j) lambda[j] = sum[j] / averaged;
    }
    return lambda;
  }
};

// The largest difference, of each in proportion to what it should be.
inline double off_by(const std::vector<double>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(found[i] - expected[i]) / std::abs(expected[i]);
    if (!(off <= largest)) largest = off;
  }
  return largest;
}

}  // namespace meanwhile::test
