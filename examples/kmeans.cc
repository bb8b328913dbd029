// k-means in a few lines: clusters the rows of a file, or of a small table made here.
//
//   kmeans [FILE]
#include <filesystem>
#include <iostream>

#include "meanwhile/base/file.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/job/train.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/learn/settle.h"

using namespace meanwhile;

static std::filesystem::path small_table() {
  const auto file = std::filesystem::temp_directory_path() / "meanwhile-example-points.csv";
  base::write_file(file, "x,y\n1,1\n1,2\n2,1\n8,9\n9,8\n9,9\n");
  return file;
}

int main(int argc, char** argv) try {
  const std::filesystem::path file = argc > 1 ? argv[1] : small_table();
  const data::Dataset data = data::read({file}, {.threads = 2});
  const learn::Entry& entry = learn::standard_registry().at("kmeans");
  const auto kmeans = entry.make(learn::settle(entry, nullptr, {{"n_clusters", 2}}));
  const job::TrainResult result = job::train(*kmeans, data, {.seed = 7});

  std::cout << result.rounds << " rounds, " << result.stopped_because << "; inertia "
            << result.objective << "\n";
} catch (const std::exception& error) {
  std::cerr << "kmeans: " << error.what() << "\n";
  return 1;
}
