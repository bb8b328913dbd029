#include "meanwhile/learn/lda/seeding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace meanwhile::learn::lda {

namespace {

constexpr std::size_t kLanes = 16;  // sums run side by side, for the compiler to make vectors of
constexpr std::size_t kTask = 128;  // candidates of a task
constexpr int kMoves = 2;           // times that documents may go to the topic they are nearest to

using Lanes = std::array<float, kLanes>;

float total(const Lanes& lanes) {
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// Cosines of all pairs, in rows padded to kLanes with ones: at no distance from anything.
class Cosines {
 public:
  Cosines(const std::vector<Document<double>>& documents, std::int64_t words,
          base::ThreadPool& pool)
      : count_(documents.size()),
        width_((count_ + kLanes - 1) / kLanes * kLanes),
        values_(count_ * width_) {
    struct Entry {
      std::uint32_t document;
      float weight;
    };
    std::vector<std::vector<Entry>> entries(static_cast<std::size_t>(words));
    std::vector<std::int32_t> in(static_cast<std::size_t>(words), 0);
    for (const auto& document : documents) {
      for (const std::int32_t word : document.words) ++in[static_cast<std::size_t>(word)];
    }
    std::vector<std::vector<float>> weights(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      double norm = 0;
      const Document<double>& document = documents[i];
      for (std::size_t j = 0; j < document.words.size(); ++j) {
        const auto word = static_cast<std::size_t>(document.words[j]);
        const double rare =
            std::log((static_cast<double>(count_) + 1) / (static_cast<double>(in[word]) + 0.5));
        const double weight = std::log1p(document.counts[j]) * std::max(rare, 0.0);
        weights[i].push_back(static_cast<float>(weight));
        norm += weight * weight;
      }
      const auto scale = static_cast<float>(norm > 0 ? 1 / std::sqrt(norm) : 0);
      for (std::size_t j = 0; j < document.words.size(); ++j) {
        weights[i][j] *= scale;
        entries[static_cast<std::size_t>(document.words[j])].push_back(
            {static_cast<std::uint32_t>(i), weights[i][j]});
      }
    }
    pool.run(static_cast<std::int64_t>(count_), [&](std::int64_t row, int) {
      const auto i = static_cast<std::size_t>(row);
      float* const to = values_.data() + i * width_;
      std::fill(to + count_, to + width_, 1.0F);
      for (std::size_t j = 0; j < documents[i].words.size(); ++j) {
        const float weight = weights[i][j];
        for (const Entry& entry : entries[static_cast<std::size_t>(documents[i].words[j])]) {
          to[entry.document] += weight * entry.weight;
        }
      }
    });
  }

  std::size_t width() const { return width_; }
  const float* row(std::size_t i) const { return values_.data() + i * width_; }

 private:
  std::size_t count_, width_;
  std::vector<float> values_;
};

// The sum of distances that would be left with one more medoid.
float left_over(const float* cosine, const std::vector<float>& distance) {
  Lanes sums{};
  for (std::size_t m = 0; m < distance.size(); m += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      sums[j] += std::min(distance[m + j], 1 - cosine[m + j]);
    }
  }
  return total(sums);
}

// Every document goes to the topic with whose documents it has the largest mean cosine, in
// proportion to how alike these are among each other: nearest centre, without the centres.
void move_all(const Cosines& cosines, std::size_t topics, std::vector<std::int32_t>& topic_of,
              base::ThreadPool& pool) {
  const std::size_t count = topic_of.size();
  std::vector<float> near(count * topics);
  pool.run(static_cast<std::int64_t>(count), [&](std::int64_t row, int) {
    const auto i = static_cast<std::size_t>(row);
    for (std::size_t m = 0; m < count; ++m) {
      near[i * topics + static_cast<std::size_t>(topic_of[m])] += cosines.row(i)[m];
    }
  });
  std::vector<double> alike(topics, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto topic = static_cast<std::size_t>(topic_of[i]);
    alike[topic] += static_cast<double>(near[i * topics + topic]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    double best = -1;
    for (std::size_t k = 0; k < topics; ++k) {
      if (alike[k] <= 0) continue;
      const double value = static_cast<double>(near[i * topics + k]) / std::sqrt(alike[k]);
      if (value > best) {
        best = value;
        topic_of[i] = static_cast<std::int32_t>(k);
      }
    }
  }
}

// A hash of words and counts. The number of a document in documents.h has 12 bits for its counts,
// too few where all documents have the same words.
std::uint64_t content_of(const Document<double>& document) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < document.words.size(); ++i) {
    hash ^= std::bit_cast<std::uint64_t>(document.counts[i]) +
            0x9E3779B97F4A7C15 * (static_cast<std::uint64_t>(document.words[i]) + 1);
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9;  // SplitMix64
    hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EB;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

std::int64_t Sample::documents_for(std::int64_t topics) {
  return std::clamp<std::int64_t>(10 * topics, 1000, 4000);
}

void Sample::put(const Document<double>& document, std::int64_t slot, std::span<double> sample) {
  double* to = sample.data() + 2 * kWords * slot;
  const auto n = static_cast<std::int64_t>(document.words.size());
  const std::int64_t taken = std::min(n, kWords);
  for (std::int64_t i = 0; i < taken; ++i) {
    const auto from = static_cast<std::size_t>(i * n / taken);
    *to++ = static_cast<double>(document.words[from]) + 1;
    *to++ = document.counts[from];
  }
}

std::vector<Document<double>> Sample::get(std::span<const double> sample, bool distinct) {
  std::vector<Document<double>> documents;
  for (std::size_t at = 0; at < sample.size(); at += 2 * kWords) {
    Document<double> document;
    for (std::size_t i = at; i < at + 2 * kWords && sample[i] > 0; i += 2) {
      document.words.push_back(static_cast<std::int32_t>(sample[i]) - 1);
      document.counts.push_back(sample[i + 1]);
      document.tokens += sample[i + 1];
    }
    if (!document.words.empty()) documents.push_back(std::move(document));
  }
  const auto holds = [](const Document<double>& document) {
    return std::tie(document.words, document.counts);
  };
  std::sort(documents.begin(), documents.end(),
            [&](const auto& a, const auto& b) { return holds(a) < holds(b); });
  if (distinct) {
    const auto same = [&](const auto& a, const auto& b) { return holds(a) == holds(b); };
    documents.erase(std::unique(documents.begin(), documents.end(), same), documents.end());
  }
  return documents;
}

std::int64_t SampleOfShard::slots(std::int64_t rows, double share) {
  const double expected = share * static_cast<double>(rows);
  if (share >= 1 || expected == 0) return share >= 1 ? rows : 0;
  return std::min(rows, static_cast<std::int64_t>(expected + 4 * std::sqrt(expected) + 4));
}

SampleOfShard::SampleOfShard(double share, std::uint64_t seed, std::int64_t begin, std::int64_t end,
                             std::span<double> sample)
    : share_(share),
      random_(seed, base::Purpose::kSeeding, 0, 1),
      slot_(begin),
      end_(end),
      sample_(sample) {}

void SampleOfShard::offer(const Document<double>& document) {
  if (slot_ == end_ || document.words.empty()) return;
  if (share_ < 1) {
    const std::uint64_t content = content_of(document);
    if (random_.uniform(content >> 8) >= share_ || !taken_.insert(content).second) return;
  }
  Sample::put(document, slot_++, sample_);
}

std::vector<std::int32_t> seed_topics(const std::vector<Document<double>>& documents,
                                      std::int64_t words, std::int64_t topics,
                                      base::ThreadPool& pool) {
  const std::size_t count = documents.size();
  const Cosines cosines(documents, words, pool);
  // To the nearest medoid; padding is at none.
  std::vector<float> distance(cosines.width(), 0.0F);
  std::fill(distance.begin(), distance.begin() + static_cast<std::ptrdiff_t>(count), 1.0F);
  std::vector<std::int32_t> topic_of(count, 0);
  std::vector<float> left(count);
  std::vector<bool> taken(count, false);
  const std::size_t medoids = std::min(count, static_cast<std::size_t>(topics));
  for (std::size_t k = 0; k < medoids; ++k) {
    pool.run(static_cast<std::int64_t>((count + kTask - 1) / kTask), [&](std::int64_t task, int) {
      const std::size_t begin = static_cast<std::size_t>(task) * kTask;
      for (std::size_t i = begin; i < std::min(begin + kTask, count); ++i) {
        left[i] = left_over(cosines.row(i), distance);
      }
    });
    std::size_t medoid = count;
    for (std::size_t i = 0; i < count; ++i) {
      if (!taken[i] && (medoid == count || left[i] < left[medoid])) medoid = i;
    }
    taken[medoid] = true;
    const float* const cosine = cosines.row(medoid);
    for (std::size_t m = 0; m < count; ++m) {
      if (1 - cosine[m] >= distance[m] && m != medoid) continue;
      distance[m] = m == medoid ? 0.0F : 1 - cosine[m];
      topic_of[m] = static_cast<std::int32_t>(k);
    }
  }
  for (int move = 0; move < kMoves; ++move) {
    move_all(cosines, static_cast<std::size_t>(topics), topic_of, pool);
  }
  return topic_of;
}

}  // namespace meanwhile::learn::lda
