// k-means: Lloyd's algorithm or mini-batches, Euclidean or spherical, on dense or sparse rows.
//
//   learn::kmeans::KMeans kmeans({.n_clusters = 100});
//   job::train(kmeans, data, {.seed = 7});
//   kmeans.model().centers;                       // n_clusters x columns, row-major
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "meanwhile/learn/kmeans/model.h"
#include "meanwhile/learn/kmeans/parameters.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::kmeans {

class KMeans final : public Learner {
 public:
  // THROWS Error(kUsage) when a parameter is out of range.
  explicit KMeans(const Parameters& parameters);
  ~KMeans() override;

  // Starts from these centres, n_clusters x columns, instead of seeding. REQUIRES: not attached.
  void set_initial_centers(std::vector<double> centers, std::int64_t cols);

  std::string name() const override { return "kmeans"; }
  void attach(const Attachment& attachment) override;
  std::size_t update_size() const override;
  void work(int shard, std::span<double> update) override;
  Outcome absorb(std::span<const double> total) override;
  std::int64_t rounds_left() const override;
  State state() const override;
  void restore(const data::SafetensorsFile& file) override;
  Cost cost(const Shape& shape) const override;

  const Parameters& parameters() const { return parameters_; }
  const Model& model() const;

 private:
  struct Job;  // what exists only while attached: caches, the current phase
  Parameters parameters_;
  std::unique_ptr<Job> job_;
};

}  // namespace meanwhile::learn::kmeans
