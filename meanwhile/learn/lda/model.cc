#include "meanwhile/learn/lda/model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "meanwhile/base/counted.h"
#include "meanwhile/base/error.h"
#include "meanwhile/base/parallel.h"
#include "meanwhile/data/release_rows.h"
#include "meanwhile/learn/lda/documents.h"
#include "meanwhile/learn/lda/parameters.h"
#include "meanwhile/learn/lda/sampled/count_lists.h"
#include "meanwhile/learn/metadata.h"

namespace meanwhile::learn::lda {

using base::Error;
using base::ErrorKind;

namespace {

constexpr std::int64_t kBlockDocuments = 64;  // documents
constexpr double kMostCounted = 0x1p53;       // by a double, one by one

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  Error error(ErrorKind::kInput, format, std::forward<Args>(args)...);
  throw error.in(fmt::format("not {}", kWhat));
}

Parameters read_parameters(const data::SafetensorsFile& file) {
  try {
    return parameters_from_json(metadata_json(file, "parameters", kWhat));
  } catch (const Error& error) {
    // A parameter out of bounds is a defect of the file here, not of the command.
    throw Error(ErrorKind::kInput, "{}", error.what());
  }
}

double count_of(const Json& about, const char* name) {
  if (!about.contains(name)) return 0;
  const Json& value = about.at(name);
  if (!value.is_number()) refuse("'{}' is no number", name);
  const double count = value.get<double>();
  if (!(count >= 0 && count <= kMostCounted)) refuse("'{}' is {}", name, count);
  return count;
}

// Numbers above 0, or from 0 on.
std::vector<double> numbers(const data::SafetensorsFile& file, const char* name,
                            const std::vector<std::int64_t>& shape, bool positive) {
  const data::Tensor& tensor = file.tensor(name);
  if (tensor.shape != shape) {
    refuse("{} has shape {}, expected {}", name, Json(tensor.shape).dump(), Json(shape).dump());
  }
  const auto values = tensor.as<double>();
  for (const double value : values) {
    if (!std::isfinite(value) || value < 0 || (positive && value == 0)) {
      refuse("{} holds {}", name, value);
    }
  }
  return {values.begin(), values.end()};
}

void read_shape(const data::SafetensorsFile& file, Model& model) {
  if (file.has(sampled::kCountStart)) {
    model.words = static_cast<std::int64_t>(file.tensor("word_counts").as<double>().size());
    model.topics = static_cast<std::int64_t>(file.tensor("alpha").as<double>().size());
    return;
  }
  if (!file.has("lambda")) refuse("it has no lambda; was training stopped before it had topics?");
  const data::Tensor& lambda = file.tensor("lambda");
  const bool matrix = lambda.shape.size() == 2 && lambda.shape[0] >= 1 && lambda.shape[1] >= 1;
  if (!matrix || lambda.shape[0] > std::numeric_limits<std::int32_t>::max()) {
    refuse("lambda is not a matrix of words and topics");
  }
  model.words = lambda.shape[0];
  model.topics = lambda.shape[1];
}

void read_lambda(const data::SafetensorsFile& file, Model& model) {
  if (!file.has(sampled::kCountStart)) {
    model.lambda = numbers(file, "lambda", {model.words, model.topics}, true);
    return;
  }
  const sampled::CountLists lists = sampled::read_counts(file, model.topics);
  if (std::ssize(lists.start) != model.words + 1) refuse("its counts are of other words");
  const auto K = static_cast<std::size_t>(model.topics);
  model.lambda.assign(static_cast<std::size_t>(model.words) * K, model.eta);
  for (std::size_t w = 0; w + 1 < lists.start.size(); ++w) {
    const auto end = static_cast<std::size_t>(lists.start[w + 1]);
    for (auto i = static_cast<std::size_t>(lists.start[w]); i < end; ++i) {
      model.lambda[w * K + static_cast<std::size_t>(lists.topics[i])] += lists.counts[i];
    }
  }
}

void read_together(const data::SafetensorsFile& file, double documents, Model& model) {
  const data::Tensor& top = file.tensor("top_words");
  if (top.shape.size() != 2 || top.shape[0] != model.topics || top.shape[1] < 1 ||
      top.shape[1] > model.words) {
    refuse("top_words are not some of each topic");
  }
  const auto words = top.as<std::int32_t>();
  for (const std::int32_t word : words) {
    if (word < 0 || word >= model.words) refuse("top_words name word {}", word);
  }
  const std::int64_t each = top.shape[1];
  model.top = {model.topics, each, {words.begin(), words.end()}};
  model.together = {model.topics, each, documents,
                    numbers(file, "together", {model.topics, each * (each + 1) / 2}, false)};
}

void check_columns(const Measurer& topics, const data::Dataset& data) {
  if (data::cols(data.x) != topics.words()) {
    throw Error(ErrorKind::kInput, "the data has {}, the model {}",
                base::counted(data::cols(data.x), "column"), base::counted(topics.words(), "word"));
  }
}

// Calls use(block, first row, end) for blocks of rows [begin, end).
template <class Use>
void for_blocks(std::int64_t begin, std::int64_t end, base::Threads threads, const Use& use) {
  base::ThreadPool pool(threads);
  pool.run((end - begin + kBlockDocuments - 1) / kBlockDocuments,
           [&](std::int64_t block, int thread) {
             const std::int64_t first = begin + block * kBlockDocuments;
             use(static_cast<std::size_t>(block), first, std::min(first + kBlockDocuments, end),
                 static_cast<std::size_t>(thread));
           });
}

}  // namespace

std::string Model::word(std::int64_t column) const {
  if (vocabulary == nullptr) return fmt::format("{}", column);
  return vocabulary->words()[static_cast<std::size_t>(column)];
}

std::vector<double> Model::topic_sums() const {
  const auto K = static_cast<std::size_t>(topics);
  std::vector<double> sums(K, 0.0);
  for (std::size_t i = 0; i < lambda.size(); i += K) {
    for (std::size_t k = 0; k < K; ++k) sums[k] += lambda[i + k];
  }
  return sums;
}

std::vector<double> Model::prevalence() const {
  std::vector<double> shares = topic_sums();
  // The prior is no word of anybody's.
  for (double& sum : shares) sum = std::max(0.0, sum - eta * static_cast<double>(words));
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share = all > 0 ? share / all : 1 / static_cast<double>(topics);
  return shares;
}

Model load_model(const data::SafetensorsFile& file) {
  if (learner_of(file) != "lda") refuse("it was made by the learner '{}'", learner_of(file));
  const Parameters parameters = read_parameters(file);
  const Json about = metadata_json(file, "about", kWhat);
  Model model;
  read_shape(file, model);
  if (model.topics != parameters.n_topics) {
    refuse("lambda is of {} topics, n_topics is {}", model.topics, parameters.n_topics);
  }
  const double eta = about.contains("eta") ? count_of(about, "eta") : parameters.eta;
  model.eta = eta > 0 ? eta : 1 / static_cast<double>(model.topics);
  read_lambda(file, model);
  model.alpha = numbers(file, "alpha", {model.topics}, true);
  model.word_counts = numbers(file, "word_counts", {model.words}, false);
  for (const double sum : model.topic_sums()) {
    if (!std::isfinite(sum)) refuse("lambda is too large");
  }
  model.documents = count_of(about, "documents");
  model.tokens = count_of(about, "tokens");
  model.infer = {parameters.inference_tol, parameters.inference_max_iter,
                 parameters.inference_change};
  if (about.contains("words")) {
    std::vector<std::string> words;
    try {
      about.at("words").get_to(words);
    } catch (const nlohmann::json::exception&) {
      refuse("its words are no list of text");
    }
    if (static_cast<std::int64_t>(words.size()) != model.words) {
      refuse("{} words have names, {} have topics", words.size(), model.words);
    }
    model.vocabulary = std::make_shared<const data::Vocabulary>(std::move(words));
  }
  if (file.has("top_words")) {
    read_together(file, about.contains("counted") ? count_of(about, "counted") : model.documents,
                  model);
  }
  return model;
}

Measurer ready_for_mixtures(const Model& model, base::Threads threads) {
  InferOptions infer = model.infer;
  infer.tol = std::min(infer.tol, kMixtureTol);
  return Measurer(model.lambda, model.words, model.alpha, model.eta, {}, infer, threads);
}

void mixtures(const Measurer& topics, const data::Dataset& data, std::int64_t begin,
              std::int64_t end, base::Threads threads, std::span<double> values) {
  check_columns(topics, data);
  const auto K = static_cast<std::size_t>(topics.topics());
  std::vector<Measurer::Scratch> scratch(static_cast<std::size_t>(threads.count));
  for_blocks(begin, end, threads,
             [&](std::size_t, std::int64_t first, std::int64_t last, std::size_t thread) {
               Document<double> document;
               for (std::int64_t row = first; row < last; ++row) {
                 read_document(data.x, row, document);
                 const auto gamma = topics.infer(document, scratch[thread]).first(K);
                 const double sum = std::accumulate(gamma.begin(), gamma.end(), 0.0);
                 double* to = values.data() + static_cast<std::size_t>(row - begin) * K;
                 for (std::size_t k = 0; k < K; ++k) to[k] = gamma[k] / sum;
               }
               if (data.mapped) data::release_rows(data.x, {first, last});
             });
}

Json evaluate(const Model& model, const data::Dataset& data, base::Threads threads) {
  const std::int64_t rows = data::rows(data.x);
  const Measurer measurer(model.lambda, model.words, model.alpha, model.eta, model.word_counts,
                          model.infer, threads);
  check_columns(measurer, data);
  const TopWords top = top_words(model.lambda, model.words, model.topics, kCoherenceWords);
  const CoCounter counter(top, model.words);
  std::vector<Measurer::Scratch> scratch(static_cast<std::size_t>(threads.count));
  std::vector<Sums> block_sums(
      static_cast<std::size_t>((rows + kBlockDocuments - 1) / kBlockDocuments));
  // Whole numbers, whose sums do not depend on the order.
  std::vector<std::vector<double>> counts(
      scratch.size(), std::vector<double>(CoOccurrence::size(top.topics, top.each), 0.0));
  for_blocks(0, rows, threads,
             [&](std::size_t block, std::int64_t first, std::int64_t last, std::size_t thread) {
               Document<double> document;
               for (std::int64_t row = first; row < last; ++row) {
                 read_document(data.x, row, document);
                 measurer.add(document, document_number(document), true, true, scratch[thread],
                              block_sums[block]);
                 counter.add(document.words, counts[thread]);
               }
               if (data.mapped) data::release_rows(data.x, {first, last});
             });
  Sums sums;
  for (const Sums& part : block_sums) sums.add(part);
  CoOccurrence together{top.topics, top.each, sums.documents, std::move(counts[0])};
  for (std::size_t thread = 1; thread < counts.size(); ++thread) {
    for (std::size_t i = 0; i < together.counts.size(); ++i) {
      together.counts[i] += counts[thread][i];
    }
  }
  Json json = measures_json(sums, measurer.topics_part(), model.tokens);
  if (sums.documents == 0) return json;
  std::vector<double> pairwise, mass;
  for (std::int64_t topic = 0; topic < model.topics; ++topic) {
    pairwise.push_back(npmi(together, topic, kCoherenceWords));
    mass.push_back(u_mass(together, topic, kCoherenceWords));
  }
  const auto mean = [](const std::vector<double>& of) {
    return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
  };
  json["coherence_npmi"] = mean(pairwise);
  json["coherence_u_mass"] = mean(mass);
  json["topics_npmi"] = pairwise;
  json["topics_u_mass"] = mass;
  return json;
}

}  // namespace meanwhile::learn::lda
