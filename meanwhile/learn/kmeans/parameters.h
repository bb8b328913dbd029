// The parameters of k-means, each described once: name, meaning, default. The command line, the
// JSON of run.json and the model's metadata are made from this description.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/learn/auto_count.h"
#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::kmeans {

// How the first centres are found (seeding.h). Other text is a file that holds them.
enum class InitMethod { kAuto, kGreedy, kParallel, kRandom };
inline constexpr Named<InitMethod> kInitMethods[] = {{InitMethod::kAuto, "auto"},
                                                     {InitMethod::kGreedy, "k-means++"},
                                                     {InitMethod::kParallel, "k-means||"},
                                                     {InitMethod::kRandom, "random"}};
constexpr std::span<const Named<InitMethod>> names(InitMethod) { return kInitMethods; }

enum class Metric { kEuclidean, kCosine };
inline constexpr Named<Metric> kMetrics[] = {{Metric::kEuclidean, "euclidean"},
                                             {Metric::kCosine, "cosine"}};
constexpr std::span<const Named<Metric>> names(Metric) { return kMetrics; }

struct Parameters {
  std::int64_t n_clusters = 8;
  OpenChoice<InitMethod> init = InitMethod::kAuto;
  AutoCount n_init = {};
  std::int64_t max_iter = 300;
  double tol = 1e-4;
  double shift_tol = 0;
  Metric metric = Metric::kEuclidean;
  std::int64_t batch_size = 0;
  bool standardize = false;
};

// Calls visit(name, field, help) for each parameter.
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("n_clusters", p.n_clusters, "number of clusters");
  visit("init", p.init,
        "initial centres: k-means++ (greedy), k-means||, random, auto (k-means++, or "
        "k-means|| when rows x clusters exceed 20 million), or a file of centres, a "
        "model or a run directory");
  visit("n_init", p.n_init,
        "number of starts, of which the one with the lowest inertia is kept; auto: "
        "up to 10 while they are cheap, by the size of the data and the number of "
        "clusters");
  visit("max_iter", p.max_iter, "most rounds of each start");
  visit("tol", p.tol,
        "stop when no centre moved by more than this fraction of the root-mean-square distance "
        "of points to their centres; 0: when no centre moved at all");
  visit("shift_tol", p.shift_tol,
        "also stop when the squared moves of the centres add up to no more than this; 0: by tol "
        "alone");
  visit("metric", p.metric, "euclidean, or cosine (spherical k-means)");
  visit("batch_size", p.batch_size,
        "rows sampled in a round (mini-batch k-means); 0: all rows (Lloyd's algorithm)");
  visit("standardize", p.standardize,
        "divide each column by its standard deviation; columns of categories stay 0 "
        "and 1");
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
void validate(const Parameters& parameters);

// How often training starts on `rows` that store so many values, where no centres are given. A pure
// function of parameters and data: never of the machine.
inline constexpr std::int64_t kMostStarts = 10;  // of n_init auto
std::int64_t starts(const Parameters& parameters, std::int64_t rows, std::int64_t stored);

Json to_json(const Parameters& parameters);
Parameters parameters_from_json(const Json& json);

}  // namespace meanwhile::learn::kmeans
