// How fast text becomes a data set, with the file in the page cache.
//
//   parse_bench [MEGABYTES]
//
// Writes a libsvm file (30 entries a row, indices to a million, values of 3 to 6 digits) and a CSV
// file (20 columns of 6 to 8 digits) to a temporary folder, reads each one five times with one and
// with two threads, and prints the best. Every read is checked against what was written: rows,
// entries, and the sum of the values. Peak memory is that of a process of its own.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "meanwhile/base/random.h"
#include "meanwhile/data/files/read.h"

namespace {

using namespace meanwhile;
namespace fs = std::filesystem;

struct Written {
  std::int64_t rows = 0, stored = 0;
  double sum = 0;  // of the values, rounded to float
};

class TextFile {
 public:
  explicit TextFile(const fs::path& path) : file_(std::fopen(path.c_str(), "w")) {}
  ~TextFile() { std::fclose(file_); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_); }

 private:
  std::FILE* file_;
};

// Appends `digits` significant digits of a number below 10 and returns its value as a float.
double add_number(std::string& line, std::uint64_t bits, int digits) {
  std::string number =
      fmt::format("{:.{}f}", static_cast<double>(bits >> 11) * 0x1p-53 * 10, digits - 1);
  line += number;
  float value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

Written write_libsvm(const fs::path& path, std::size_t bytes) {
  const base::Random random(1, base::Purpose::kUser, 0, 0);
  Written written;
  TextFile file(path);
  std::uint64_t draw = 0;
  for (std::size_t size = 0; size < bytes; ++written.rows) {
    std::string line = random.below(draw++, 2) == 0 ? "-1" : "+1";
    std::uint64_t index = 0;
    for (int i = 0; i < 30; ++i) {
      index += 1 + random.below(draw++, 66000);
      line += fmt::format(" {}:", index);
      const int digits = 3 + static_cast<int>(random.below(draw, 4));
      written.sum += add_number(line, random.bits(draw + 1), digits);
      draw += 2;
    }
    written.stored += 30;
    line += '\n';
    file.write(line);
    size += line.size();
  }
  return written;
}

Written write_csv(const fs::path& path, std::size_t bytes) {
  const base::Random random(2, base::Purpose::kUser, 0, 0);
  Written written;
  TextFile file(path);
  std::uint64_t draw = 0;
  for (std::size_t size = 0; size < bytes; ++written.rows) {
    std::string line;
    for (int i = 0; i < 20; ++i) {
      const int digits = 6 + static_cast<int>(random.below(draw, 3));
      if (random.below(draw + 2, 2) == 0) line += '-';
      const bool negative = !line.empty() && line.back() == '-';
      const double value = add_number(line, random.bits(draw + 1), digits);
      written.sum += negative ? -value : value;
      draw += 3;
      line += i < 19 ? ',' : '\n';
    }
    written.stored += 20;
    file.write(line);
    size += line.size();
  }
  return written;
}

bool right(const data::Dataset& data, const Written& written) {
  const double sum = std::visit(
      [&](const auto& m) {
        double total = 0;
        for (std::int64_t i = 0; i < data::stored(data.x); ++i) total += m.values[i];
        return total;
      },
      data.x);
  return data::rows(data.x) == written.rows && data::stored(data.x) == written.stored &&
         std::abs(sum - written.sum) <= 1e-9 * std::abs(written.sum) + 1e-3;
}

// The most memory a process needs that reads the file and does nothing else.
std::int64_t peak_bytes(const fs::path& path, const data::ReadOptions& options) {
  const pid_t child = fork();
  if (child == 0) {
    const data::Dataset data = data::read({path}, options);
    _exit(data::rows(data.x) > 0 ? 0 : 1);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

int measure(const char* format, const fs::path& path, const Written& written) {
  const double megabytes = static_cast<double>(fs::file_size(path)) / 1e6;
  int failures = 0;
  for (const int threads : {1, 2}) {
    data::ReadOptions options;
    options.threads = threads;
    const auto peak = static_cast<double>(peak_bytes(path, options));  // before we have arrays
    double best = 1e300, arrays = 0;
    for (int i = 0; i < 5; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const data::Dataset data = data::read({path}, options);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      best = std::min(best, seconds.count());
      arrays = static_cast<double>(data::byte_size(data));
      if (!right(data, written)) ++failures;
    }
    fmt::print(
        "{:<8}{:>8.0f} MB{:>4} threads{:>8.0f} MB/s{:>8.0f} MB of arrays, peak {:>5.0f} MB\n",
        format, megabytes, threads, megabytes / best, arrays / 1e6, peak / 1e6);
    std::fflush(stdout);
  }
  if (failures > 0) fmt::print("{}: {} reads gave something else\n", format, failures);
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t megabytes = argc > 1 ? std::stoul(argv[1]) : 320;
  std::string folder = (fs::temp_directory_path() / "parse-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  int failures = 0;
  const fs::path libsvm = fs::path(folder) / "a.libsvm", csv = fs::path(folder) / "a.csv";
  failures += measure("libsvm", libsvm, write_libsvm(libsvm, megabytes * 1000000));
  fs::remove(libsvm);
  failures += measure("csv", csv, write_csv(csv, megabytes * 1000000));
  fs::remove_all(folder);
  return failures == 0 ? 0 : 1;
}
