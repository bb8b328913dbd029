#include "meanwhile/graph/histogram.h"

#include <algorithm>
#include <cmath>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/graph/number_text.h"

namespace meanwhile::graph {

namespace {

// Sums of degrees are exact in a double.
constexpr std::int64_t kMostEnds = std::int64_t{1} << 53;

void sort_by_degree(Histogram& histogram) {
  std::sort(histogram.begin(), histogram.end(),
            [](const DegreeCount& a, const DegreeCount& b) { return a.degree < b.degree; });
}

double power(double x, std::int64_t degree) { return std::pow(x, static_cast<double>(degree)); }

}  // namespace

Histogram read_histogram(const std::filesystem::path& path) {
  data::NumberText text(path);
  Histogram histogram;
  std::int64_t ends = 0, vertices = 0;
  for (; !text.at_end(); text.next_line()) {
    if (text.at_line_end()) continue;
    DegreeCount count;
    count.degree = text.whole_number("a degree");
    count.vertices = text.whole_number("the number of vertices of this degree");
    if (!text.at_line_end()) text.expected("the end of the line");
    if (count.degree < 0 || count.vertices < 0) text.fail("found a negative number");
    const bool fits = count.degree < kMostEnds && count.vertices < kMostEnds - vertices &&
                      (count.degree == 0 || count.vertices <= (kMostEnds - ends) / count.degree);
    if (!fits) text.fail("the degrees up to here have more than 2^53 ends of edges");
    ends += count.degree * count.vertices;
    vertices += count.vertices;
    histogram.push_back(count);
  }
  if (ends == 0) {
    throw base::Error(base::ErrorKind::kInput, "{} lists no vertex of a degree above 0",
                      text.name());
  }
  return histogram;
}

Histogram histogram_of(std::span<const std::int64_t> degrees) {
  std::vector<std::int64_t> sorted(degrees.begin(), degrees.end());
  std::sort(sorted.begin(), sorted.end());
  Histogram histogram;
  for (const std::int64_t degree : sorted) {
    if (histogram.empty() || histogram.back().degree != degree) histogram.push_back({degree, 0});
    ++histogram.back().vertices;
  }
  return histogram;
}

std::int64_t vertices_in(const Histogram& histogram) {
  std::int64_t vertices = 0;
  for (const DegreeCount& count : histogram) vertices += count.vertices;
  return vertices;
}

std::int64_t edges_in(const Histogram& histogram) {
  std::int64_t ends = 0;
  for (const DegreeCount& count : histogram) ends += count.degree * count.vertices;
  return ends / 2;
}

double random_copies(const Histogram& histogram, int shards) {
  double all = 0, copies = 0;
  for (const DegreeCount& count : histogram) {
    if (count.degree == 0) continue;
    const auto vertices = static_cast<double>(count.vertices);
    all += vertices;
    copies += vertices * shards * (1 - power(1 - 1.0 / shards, count.degree));
  }
  return all > 0 ? copies / all : 0;
}

double owner_copies(Histogram histogram, int shards) {
  sort_by_degree(histogram);
  double ends = 0, all = 0;
  for (const DegreeCount& count : histogram) {
    ends += static_cast<double>(count.degree * count.vertices);
    if (count.degree > 0) all += static_cast<double>(count.vertices);
  }
  if (all == 0) return 0;
  const double z = 1 - 1.0 / shards;
  double below = 0, copies = 0;
  for (const DegreeCount& count : histogram) {
    const std::int64_t d = count.degree;
    if (d == 0) continue;
    const auto here = static_cast<double>(d * count.vertices);
    // The chance that the other end of an edge owns it; then it lies in a shard at random.
    const double q = (below + here / 2) / ends;
    below += here;
    const double missed = z * (power(1 - q / shards, d) - power(q * z, d)) + power(q * z, d);
    copies += static_cast<double>(count.vertices) * shards * (1 - missed);
  }
  return copies / all;
}

std::vector<std::pair<int, data::Spread>> owner_copies_by_workers(const Histogram& histogram) {
  const auto all = static_cast<double>(vertices_in(histogram));
  double alone = 0;
  for (const DegreeCount& count : histogram) {
    if (count.degree == 0) alone += static_cast<double>(count.vertices);
  }
  std::vector<std::pair<int, data::Spread>> copies;
  for (int workers = 2; workers <= 64; workers *= 2) {
    const double on = (alone + (all - alone) * owner_copies(histogram, workers)) / all;
    copies.emplace_back(workers, data::Spread{.copies = on});
  }
  return copies;
}

std::int64_t most_owned(Histogram histogram, int parallel) {
  sort_by_degree(histogram);
  std::int64_t most = 0, at_least = 0;
  for (auto count = histogram.rbegin(); count != histogram.rend(); ++count) {
    at_least += count->vertices;
    if (count->vertices == 0) continue;
    most = std::max(most, std::min(count->degree, parallel * (at_least - 1)));
  }
  return most;
}

}  // namespace meanwhile::graph
