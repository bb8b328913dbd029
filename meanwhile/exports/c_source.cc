// The file has the model as arrays and one walk over the cells of a row, which calls put() for each
// encoded column. A row that is divided by its length is walked twice, first for the length. All is
// float64. Distances are sums of squared differences, as in the program: no digits are lost where
// values are large.
#include "meanwhile/exports/c_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "meanwhile/exports/number_text.h"

namespace meanwhile::exports {

namespace {

constexpr std::size_t kLineWidth = 96;

// "static const double NAME[N] = {...};" or of another type, in lines of bounded width.
std::string array_text(const std::string& declaration, std::size_t count,
                       const std::function<std::string(std::size_t)>& item) {
  std::string text = declaration + " = {", line;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string next = item(i) + (i + 1 < count ? "," : "");
    if (line.empty() || line.size() + next.size() + 1 > kLineWidth) {
      text += line + '\n';
      line = fmt::format("  {}", next);
    } else {
      line += fmt::format(" {}", next);
    }
  }
  return text + line + "};\n";
}

std::string numbers_text(const std::string& name, const std::vector<double>& values) {
  return array_text(fmt::format("static const double {}[{}]", name, values.size()), values.size(),
                    [&](std::size_t i) { return number_text(values[i]); });
}

// A public array, declared so that a C++ compiler gives it a name for other files, too.
std::string names_text(const std::string& name, const std::vector<std::string>& names) {
  const std::string declaration = fmt::format("const char *const {}[{}]", name, names.size());
  return "extern " + declaration + ";\n" +
         array_text(declaration, names.size(), [&](std::size_t i) { return c_literal(names[i]); });
}

std::string comment_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '*' && c != '\\' && c != '?';
    safe += plain ? c : c == '\n' ? ' ' : '_';
  }
  return safe;
}

constexpr const char* kHead = R"(
   int model_predict(const double *numbers, const char *const *words, double *scores)

   numbers: the MODEL_NUMBERS cells of model_numbers, NAN where one is missing; dates as days since
   1970-01-01, truth values as 1 and 0. words: the MODEL_WORDS cells of model_words as UTF-8, NULL
   where one is missing. scores: room for MODEL_SCORES numbers: the prediction of a regression,
   margins of classes (of two classes one margin, which is above 0 for the second), or distances to
   the centres of clusters. Returns the number of the class in model_classes, the number of the
   cluster, or 0 for a regression; -1, with scores of NAN, for a row that lacks a value for which
   the model has none.
*/
#include <math.h>
#include <stddef.h>
#include <string.h>

)";

// The number of a level, `count` where it is none.
constexpr const char* kFind = R"(
static size_t find_level(const char *word, const char *const *levels, size_t count) {
  size_t begin = 0, end = count;
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const int order = strcmp(levels[middle], word);
    if (order == 0) return middle;
    if (order < 0) begin = middle + 1;
    else end = middle;
  }
  return count;
}
)";

constexpr const char* kPutMargin = R"(
static void put(size_t column, double value, double scale, double *squares, double *scores) {
  size_t o;
  value *= FACTOR(column);
  if (scores == NULL) {
    *squares += value * value;
    return;
  }
  value *= scale;
  if (value == 0) return;
  for (o = 0; o < MODEL_SCORES; ++o) scores[o] += value * weights[column * MODEL_SCORES + o];
}
)";

constexpr const char* kPutDistance = R"(
static void put(size_t column, double value, double scale, double *squares, double *scores) {
  size_t o;
  value *= FACTOR(column);
  if (scores == NULL) {
    *squares += value * value;
    return;
  }
  value *= scale;
  for (o = 0; o < MODEL_SCORES; ++o) {
    const double difference = value - centers[o * COLUMNS + column];
    scores[o] += difference * difference;
  }
}
)";

constexpr const char* kPutCosine = R"(
static void put(size_t column, double value, double scale, double *squares, double *scores) {
  size_t o;
  value *= FACTOR(column);
  if (scores == NULL) {
    *squares += value * value;
    return;
  }
  value *= scale;
  for (o = 0; o < MODEL_SCORES; ++o) scores[o] -= value * centers[o * COLUMNS + column];
}
)";

constexpr const char* kWalkBegin = R"(
/* Passes each encoded column to put(); returns 0 for a row without an answer. */
static int walk(const double *numbers, const char *const *words, double scale, double *squares,
                double *scores) {
  size_t i;
)";

constexpr const char* kWalkNumbers = R"(  for (i = 0; i < MODEL_NUMBERS; ++i) {
    const int missing = isnan(numbers[i]);
    if (missing && !FILLS) return 0;
    put(number_columns[i], missing ? fills[i] : numbers[i], scale, squares, scores);
    if (number_indicators[i] > 0) {
      put((size_t)number_indicators[i], missing ? 1 : 0, scale, squares, scores);
    }
  }
)";

constexpr const char* kWalkWords = R"(  for (i = 0; i < MODEL_WORDS; ++i) {
    const size_t count = level_counts[i];
    const int missing = words[i] == NULL;
    const size_t level = missing ? count : find_level(words[i], levels[i], count);
    size_t k;
    if (missing && !FILLS) return 0;
    for (k = 0; k < count; ++k) put(word_columns[i] + k, k == level ? 1 : 0, scale, squares, scores);
    if (word_others[i]) {
      put(word_columns[i] + count, !missing && level == count ? 1 : 0, scale, squares, scores);
      ++k;
    }
    if (word_indicators[i]) put(word_columns[i] + k, missing ? 1 : 0, scale, squares, scores);
  }
)";

constexpr const char* kSparse = R"(
/* The same for a row of which only some columns are given, by number from 0 and rising; the others
   are 0, and columns that the model does not know count nothing. */
int model_predict_sparse(size_t count, const size_t *columns, const double *values, double *scores);

static int walk_sparse(size_t count, const size_t *columns, const double *values, double scale,
                       double *squares, double *scores) {
  size_t column, next = 0;
  for (column = 0; column < COLUMNS; ++column) {
    const int given = next < count && columns[next] == column;
    double value = given ? values[next] : 0;
    next += given ? 1 : 0;
    if (isnan(value)) {
      if (!FILLS) return 0;
      value = fills[column];
    }
    put(column, value, scale, squares, scores);
  }
  return 1;
}

int model_predict_sparse(size_t count, const size_t *columns, const double *values, double *scores) {
  double scale = 1;
  if (BY_LENGTH) {
    double squares = 0;
    walk_sparse(count, columns, values, 1, &squares, NULL);
    scale = inverse_length(squares);
  }
  begin(scores);
  return label(walk_sparse(count, columns, values, scale, NULL, scores), scores);
}
)";

constexpr const char* kPredict = R"(
int model_predict(const double *numbers, const char *const *words, double *scores) {
  double scale = 1;
  if (BY_LENGTH) {
    double squares = 0;
    walk(numbers, words, 1, &squares, NULL);
    scale = inverse_length(squares);
  }
  begin(scores);
  return label(walk(numbers, words, scale, NULL, scores), scores);
}
)";

constexpr const char* kLabelBegin = R"(
static int label(int complete, double *scores) {
  size_t o, best = 0;
  if (!complete) {
    for (o = 0; o < MODEL_SCORES; ++o) scores[o] = NAN;
    return -1;
  }
)";

std::string label_text(const Scorer& scorer) {
  std::string text = kLabelBegin;
  if (scorer.task == Task::kTwoClasses)
    return text + "  best = scores[0] > 0 ? 1 : 0;\n  return (int)best;\n}\n";
  if (scorer.task == Task::kNumber) return text + "  return (int)best;\n}\n";
  text += "  for (o = 1; o < MODEL_SCORES; ++o) {\n";
  text += fmt::format("    if (scores[o] {} scores[best]) best = o;\n  }}\n",
                      scorer.task == Task::kClusters ? '<' : '>');
  if (scorer.task == Task::kClusters && !scorer.cosine) {
    text += "  for (o = 0; o < MODEL_SCORES; ++o) scores[o] = sqrt(scores[o]);\n";
  }
  return text + "  return (int)best;\n}\n";
}

constexpr const char* kProbabilitiesBegin = R"(
/* The probability of each of model_classes, from the scores of a row. */
void model_probabilities(const double *scores, double *probabilities);

void model_probabilities(const double *scores, double *probabilities) {
)";

constexpr const char* kTwoProbabilities = R"(  const double e = exp(-fabs(scores[0]));
  probabilities[1] = scores[0] > 0 ? 1 / (1 + e) : e / (1 + e);
  probabilities[0] = scores[0] > 0 ? e / (1 + e) : 1 / (1 + e);
}
)";

constexpr const char* kSoftmax = R"(  double largest = scores[0], sum = 0;
  size_t k;
  for (k = 1; k < MODEL_SCORES; ++k) largest = scores[k] > largest ? scores[k] : largest;
  for (k = 0; k < MODEL_SCORES; ++k) sum += probabilities[k] = exp(scores[k] - largest);
  for (k = 0; k < MODEL_SCORES; ++k) probabilities[k] /= sum;
}
)";

constexpr const char* kAgainstRest = R"(  double sum = 0;
  size_t k;
  for (k = 0; k < MODEL_SCORES; ++k) {
    const double e = exp(-fabs(scores[k]));
    sum += probabilities[k] = scores[k] > 0 ? 1 / (1 + e) : e / (1 + e);
  }
  for (k = 0; k < MODEL_SCORES; ++k) {
    probabilities[k] = sum == 0 ? 1 / (double)MODEL_SCORES : probabilities[k] / sum;
  }
}
)";

struct Walk {
  std::string arrays, function;
};

// The arrays that describe cells, and the walk over them.
Walk walk_of(const Scorer& scorer) {
  std::vector<const Cell*> numbers, words;
  for (const Cell& cell : scorer.cells) (cell.is_word() ? words : numbers).push_back(&cell);
  const auto of = [](const char* name, const std::vector<const Cell*>& cells, const auto& value) {
    return array_text(fmt::format("static const {}[{}]", name, cells.size()), cells.size(),
                      [&](std::size_t i) { return fmt::format("{}", value(*cells[i])); });
  };
  std::string text, walk = kWalkBegin;
  if (!numbers.empty()) {
    text += of("size_t number_columns", numbers, [](const Cell& cell) { return cell.first; });
    text += of("long number_indicators", numbers,
               [](const Cell& cell) { return cell.indicator ? cell.first + 1 : 0; });
    text += of("double fills", numbers, [](const Cell& cell) { return number_text(cell.fill); });
    walk += kWalkNumbers;
  } else {
    walk += "  (void)numbers;\n";
  }
  if (!words.empty()) {
    std::vector<std::string> lists;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto& levels = words[i]->levels;
      lists.push_back(levels.empty() ? "NULL" : fmt::format("levels_{}", i));
      if (levels.empty()) continue;
      text += array_text(fmt::format("static const char *const levels_{}[{}]", i, levels.size()),
                         levels.size(), [&](std::size_t k) { return c_literal(levels[k]); });
    }
    text += array_text(fmt::format("static const char *const *const levels[{}]", words.size()),
                       words.size(), [&](std::size_t i) { return lists[i]; });
    text += of("size_t level_counts", words, [](const Cell& cell) { return cell.levels.size(); });
    text += of("size_t word_columns", words, [](const Cell& cell) { return cell.first; });
    text += of("int word_others", words, [](const Cell& cell) { return cell.other ? 1 : 0; });
    text +=
        of("int word_indicators", words, [](const Cell& cell) { return cell.indicator ? 1 : 0; });
    text += kFind;
    walk += kWalkWords;
  } else {
    walk += "  (void)words;\n";
  }
  return {text, walk + "  return 1;\n}\n"};
}

std::string begin_text(const Scorer& scorer) {
  const char* const value = scorer.task != Task::kClusters ? "intercept[o]"
                            : scorer.cosine                ? "1"
                                                           : "0";
  return fmt::format(
      "\nstatic void begin(double *scores) {{\n  size_t o;\n"
      "  for (o = 0; o < MODEL_SCORES; ++o) scores[o] = {};\n}}\n",
      value);
}

}  // namespace

std::string c_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '?') {
      literal += '\\';
      literal += c;
    } else if (c >= ' ' && c <= '~') {
      literal += c;
    } else {
      literal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  return literal + "\"";
}

std::string c_source(const Scorer& scorer, std::string_view about) {
  const bool clusters = scorer.task == Task::kClusters;
  const bool by_length = scorer.normalize || scorer.cosine;
  std::vector<std::string> numbers, words, classes = scorer.class_names;
  for (const Cell& cell : scorer.cells) (cell.is_word() ? words : numbers).push_back(cell.name);
  for (const double value : scorer.class_values) classes.push_back(fmt::format("{}", value));

  std::string text = "/* " + comment_text(about) + "\n" + kHead;
  text += fmt::format("enum {{ MODEL_NUMBERS = {}, MODEL_WORDS = {}, MODEL_SCORES = {}, ",
                      numbers.size(), words.size(), scorer.outputs);
  text += fmt::format("MODEL_CLASSES = {} }};\n", classes.size());
  text += fmt::format("enum {{ COLUMNS = {}, FILLS = {}, BY_LENGTH = {} }};\n\n", scorer.cols,
                      scorer.fills ? 1 : 0, by_length ? 1 : 0);
  text += "int model_predict(const double *numbers, const char *const *words, double *scores);\n\n";
  if (!numbers.empty()) text += names_text("model_numbers", numbers);
  if (!words.empty()) text += names_text("model_words", words);
  if (!classes.empty()) text += names_text("model_classes", classes);
  text += '\n';
  text += numbers_text(clusters ? "centers" : "weights", scorer.weights);
  if (!clusters) text += numbers_text("intercept", scorer.intercept);
  if (scorer.is_weighed()) {
    text += numbers_text("factors", scorer.factors) + "#define FACTOR(column) factors[column]\n";
  } else {
    text += "#define FACTOR(column) 1\n";
  }
  const Walk walk = walk_of(scorer);
  text += walk.arrays;
  text += !clusters ? kPutMargin : scorer.cosine ? kPutCosine : kPutDistance;
  text += walk.function;
  // A row of zeros has no direction: its cosine with everything is 0.
  text += fmt::format(
      "\nstatic double inverse_length(double squares) {{ return squares > 0 ? 1 / sqrt(squares) : "
      "{}; }}\n",
      scorer.cosine ? 0 : 1);
  text += begin_text(scorer) + label_text(scorer) + kPredict;
  const bool plain = std::none_of(scorer.cells.begin(), scorer.cells.end(), [](const Cell& cell) {
    return cell.width() != 1 || cell.is_word();
  });
  if (plain) text += kSparse;
  if (scorer.logistic) {
    text += kProbabilitiesBegin;
    text += scorer.outputs == 1 ? kTwoProbabilities : scorer.softmax ? kSoftmax : kAgainstRest;
  }
  return text;
}

}  // namespace meanwhile::exports
