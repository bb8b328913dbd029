#include "meanwhile/cli/commands/topics_export.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <numeric>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"

namespace meanwhile::cli {

using learn::lda::Model;

namespace {

constexpr std::size_t kExportBytes = std::size_t{1} << 20;  // gathered before they are written

// A JSON list of `n` items, made one by one: all topics as text would be many times the model.
void write_list(base::FileWriter& file, std::size_t n,
                const std::function<void(std::size_t, std::string&)>& item) {
  std::string text = "[";
  for (std::size_t i = 0; i < n; ++i) {
    if (i > 0) text += ',';
    item(i, text);
    if (text.size() < kExportBytes) continue;
    file.write(text);
    text.clear();
  }
  file.write(text + "]");
}

void put(double value, std::string& text) { fmt::format_to(std::back_inserter(text), "{}", value); }

}  // namespace

void export_topics(const Model& model, const std::filesystem::path& path) {
  const auto K = static_cast<std::size_t>(model.topics);
  std::vector<std::size_t> words;  // that occur
  for (std::size_t w = 0; w < model.word_counts.size(); ++w) {
    if (model.word_counts[w] > 0) words.push_back(w);
  }
  if (words.empty()) {
    throw base::Error(base::ErrorKind::kInput, "no word of the model has occurred");
  }
  std::vector<double> sums(K, 0.0);  // of lambda, over these
  double tokens = 0;
  for (const std::size_t w : words) {
    for (std::size_t k = 0; k < K; ++k) sums[k] += model.lambda[w * K + k];
    tokens += model.word_counts[w];
  }
  const std::vector<double> prevalence = model.prevalence();

  base::FileWriter file(path);
  file.write("{\"vocab\":");
  write_list(file, words.size(), [&](std::size_t i, std::string& text) {
    text += base::Json(model.word(static_cast<std::int64_t>(words[i]))).dump();
  });
  file.write(",\n\"term_frequency\":");
  write_list(file, words.size(),
             [&](std::size_t i, std::string& text) { put(model.word_counts[words[i]], text); });
  file.write(",\n\"doc_lengths\":");
  write_list(file, K, [&](std::size_t k, std::string& text) { put(prevalence[k] * tokens, text); });
  file.write(",\n\"doc_topic_dists\":");
  write_list(file, K, [&](std::size_t document, std::string& text) {
    for (std::size_t k = 0; k < K; ++k) {
      text += k == 0 ? "\n[" : ",";
      text += k == document ? '1' : '0';
    }
    text += ']';
  });
  file.write(",\n\"topic_term_dists\":[");
  for (std::size_t k = 0; k < K; ++k) {
    file.write(k == 0 ? "\n" : ",\n");
    write_list(file, words.size(), [&](std::size_t i, std::string& text) {
      put(model.lambda[words[i] * K + k] / sums[k], text);
    });
  }
  file.write("]}\n");
  file.commit();
}

}  // namespace meanwhile::cli
