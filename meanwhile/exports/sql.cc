// Scores are sums of one term a cell; the terms are bracketed as a balanced tree, since databases
// limit how deep an expression may be (SQLite: 1,000). A NULL that the model has no value for makes
// its term NULL, and so the score and the prediction. Words are compared by CASE, so that a level
// that training did not see is told from one that is missing.
//
// Each step is a SELECT around the one before: scores; the largest; exponentials; the answer.
#include "meanwhile/exports/sql.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/exports/number_text.h"

namespace meanwhile::exports {

using base::Error;
using base::ErrorKind;

namespace {

std::string quoted(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) {
    result += c;
    if (c == quote) result += quote;
  }
  return result + quote;
}

std::string sum_text(std::span<const std::string> terms) {
  if (terms.empty()) return "0e0";
  if (terms.size() == 1) return terms[0];
  const std::size_t half = terms.size() / 2;
  const std::string left = sum_text(terms.first(half));
  return "(" + left + (terms.size() > 8 ? "\n + " : " + ") + sum_text(terms.subspan(half)) + ")";
}

class Select {
 public:
  Select(const Scorer& scorer, const SqlOptions& options) : scorer_(scorer), options_(options) {}

  std::string text() {
    std::string inner = first();
    if (scorer_.task == Task::kNumber) return inner;
    const std::string answer = answer_text();
    if (!options_.probabilities) return around(inner, {answer});
    if (scorer_.outputs == 1) return around(inner, both(answer));
    if (scorer_.softmax) inner = around(inner, {largest()});
    std::vector<std::string> shares, parts;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < scorer_.outputs; ++k) {
      const std::string margin = column(score_name(k));
      names.push_back(free_name(fmt::format("part_{}", k)));
      const std::string part =
          scorer_.softmax
              ? exp_text(fmt::format("{} - {}", margin, column(free_name("largest_margin"))))
              : sigmoid(margin);
      parts.push_back(fmt::format("{} AS {}", part, sql_name(names.back())));
    }
    inner = around(inner, parts);
    std::vector<std::string> all;
    for (const std::string& name : names) all.push_back(column(name));
    const std::string sum = sum_text(all);
    for (std::size_t k = 0; k < scorer_.outputs; ++k) {
      shares.push_back(fmt::format(
          "CASE WHEN {0} > 0 THEN {1} / {0} WHEN {0} IS NOT NULL THEN {2} END AS {3}", sum, all[k],
          number_text(1 / static_cast<double>(scorer_.outputs)), probability_name(k)));
    }
    shares.push_back(answer);
    return around(inner, shares);
  }

 private:
  static std::string column(const std::string& name) { return "s." + sql_name(name); }

  // A name that no column of the table has, as far as training saw it.
  std::string free_name(std::string name) const {
    const auto taken = [&] {
      return std::any_of(scorer_.table_names.begin(), scorer_.table_names.end(),
                         [&](const std::string& theirs) { return same_name(theirs, name); });
    };
    while (taken()) name += '_';
    return name;
  }
  // Databases do not tell capitals apart in names.
  static bool same_name(const std::string& a, const std::string& b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](char x, char y) { return lower(x) == lower(y); });
  }

  std::string score_name(std::size_t o) const {
    if (scorer_.task == Task::kNumber) return free_name("prediction");
    if (scorer_.task == Task::kTwoClasses) return free_name("margin");
    const char* const kind = scorer_.task == Task::kSeveralClasses ? "margin" : "squared_distance";
    return free_name(fmt::format("{}_{}", kind, o));
  }

  // SQLite would put the inner expressions in the place of every mention of their names, and each
  // score is mentioned many times. It leaves an inner SELECT with a LIMIT as it is where the outer
  // one has a WHERE: 400 columns and three classes take 0.09 s instead of 8.5.
  static std::string around(const std::string& inner, const std::vector<std::string>& more) {
    std::string text = "SELECT s.*";
    for (const std::string& each : more) text += ",\n  " + each;
    return text + "\nFROM (\n" + inner + "\nLIMIT 9223372036854775807\n) AS s\nWHERE 1 = 1";
  }

  // The cell as a number.
  static std::string value_of(const Cell& cell) {
    const std::string name = "t." + sql_name(cell.name);
    if (cell.kind != data::ColumnKind::kBoolean) return name;
    return fmt::format(
        "CASE WHEN {0} IS NULL THEN NULL WHEN LOWER(CAST({0} AS VARCHAR(5))) IN ('true', 'yes', "
        "'t', '1', '1.0') THEN 1e0 ELSE 0e0 END",
        name);
  }

  std::string number_part(const Cell& cell, std::size_t o) const {
    const double factor = scorer_.factors[cell.first];
    const std::string value = value_of(cell);
    if (scorer_.task == Task::kClusters) {
      const double center = scorer_.weights[o * scorer_.cols + cell.first];
      const std::string difference =
          factor == 1
              ? fmt::format("({} - ({}))", value, number_text(center))
              : fmt::format("({} * {} - ({}))", value, number_text(factor), number_text(center));
      return difference + " * " + difference;
    }
    const double weight = scorer_.weights[cell.first * scorer_.outputs + o];
    return fmt::format("{} * ({})", value, number_text(weight * factor));
  }

  // The term of the cell in a score.
  std::string part(const Cell& cell, std::size_t o) const {
    const std::string name = "t." + sql_name(cell.name);
    const auto constant = [&](const std::vector<double>& values) {
      return number_text(scorer_.part(cell, values, o));
    };
    if (cell.is_word()) {
      const auto states = scorer_.states(cell);
      std::string text = "CASE";
      text += fmt::format(" WHEN {} IS NULL THEN {}", name,
                          scorer_.fills ? constant(states.back()) : "NULL");
      for (std::size_t i = 0; i < cell.levels.size(); ++i) {
        text += fmt::format(" WHEN {} = {} THEN {}", name, sql_text(cell.levels[i]),
                            constant(states[i]));
      }
      return text + fmt::format(" ELSE {} END", constant(states[cell.levels.size()]));
    }
    if (!scorer_.fills) return number_part(cell, o);
    std::vector<double> filled = {cell.fill};
    if (cell.indicator) filled.push_back(1);
    std::string known = number_part(cell, o);
    if (cell.indicator) {
      const double center =
          scorer_.task == Task::kClusters ? scorer_.weights[o * scorer_.cols + cell.first + 1] : 0;
      if (center != 0) known += " + " + number_text(center * center);
    }
    return fmt::format("CASE WHEN {} IS NULL THEN {} ELSE {} END", name, constant(filled), known);
  }

  // All columns of the table and the scores.
  std::string first() const {
    std::string text = "SELECT t.*";
    for (std::size_t o = 0; o < scorer_.outputs; ++o) {
      std::vector<std::string> terms;
      if (scorer_.task != Task::kClusters) terms.push_back(number_text(scorer_.intercept[o]));
      for (const Cell& cell : scorer_.cells) {
        const bool nothing =
            scorer_.task != Task::kClusters && scorer_.fills && weighs_nothing(cell, o);
        if (!nothing) terms.push_back(part(cell, o));
      }
      text += fmt::format(",\n  {} AS {}", sum_text(terms), sql_name(score_name(o)));
    }
    return text + "\nFROM " + sql_name(options_.table) + " AS t";
  }

  // A cell that cannot be missing and has no weights adds nothing.
  bool weighs_nothing(const Cell& cell, std::size_t o) const {
    for (std::size_t i = 0; i < cell.width(); ++i) {
      if (scorer_.weights[(cell.first + i) * scorer_.outputs + o] != 0) return false;
    }
    return true;
  }

  std::string class_text(std::size_t k) const {
    if (scorer_.task == Task::kClusters) return fmt::format("{}", k);
    if (!scorer_.class_names.empty()) return sql_text(scorer_.class_names[k]);
    return fmt::format("{}", scorer_.class_values[k]);
  }

  // The first score that none behind it beats; those before it were beaten.
  std::string answer_text() const {
    const std::string name =
        sql_name(free_name(scorer_.task == Task::kClusters ? "cluster" : "prediction"));
    const std::string score = column(score_name(0));
    if (scorer_.task == Task::kTwoClasses) {
      return fmt::format("CASE WHEN {0} > 0 THEN {1} WHEN {0} IS NOT NULL THEN {2} END AS {3}",
                         score, class_text(1), class_text(0), name);
    }
    std::string text = fmt::format("CASE WHEN {} IS NULL THEN NULL", score);
    const char* const beats = scorer_.task == Task::kClusters ? "<=" : ">=";
    for (std::size_t k = 0; k + 1 < scorer_.outputs; ++k) {
      text += "\n    WHEN ";
      for (std::size_t j = k + 1; j < scorer_.outputs; ++j) {
        text += fmt::format("{}{} {} {}", j > k + 1 ? " AND " : "", column(score_name(k)), beats,
                            column(score_name(j)));
      }
      text += " THEN " + class_text(k);
    }
    return text + fmt::format("\n    ELSE {} END AS {}", class_text(scorer_.outputs - 1), name);
  }

  // Some databases refuse results that are too small for a double.
  static std::string exp_text(const std::string& value) {
    return fmt::format("CASE WHEN {0} < -700 THEN 0e0 ELSE EXP({0}) END", value);
  }
  static std::string sigmoid(const std::string& z) {
    const std::string up = exp_text("-(" + z + ")"), down = exp_text(z);
    return fmt::format("CASE WHEN {0} > 0 THEN 1e0 / (1e0 + {1}) ELSE {2} / (1e0 + {2}) END", z, up,
                       "(" + down + ")");
  }

  std::string probability_name(std::size_t k) const {
    const std::string name = scorer_.class_names.empty()
                                 ? fmt::format("{}", scorer_.class_values[k])
                                 : scorer_.class_names[k];
    return sql_name(free_name("probability_" + name));
  }

  std::vector<std::string> both(const std::string& answer) const {
    const std::string z = column(score_name(0));
    return {sigmoid("-(" + z + ")") + " AS " + probability_name(0),
            sigmoid(z) + " AS " + probability_name(1), answer};
  }

  std::string largest() const {
    std::string text = "CASE";
    for (std::size_t k = 0; k + 1 < scorer_.outputs; ++k) {
      text += " WHEN ";
      for (std::size_t j = k + 1; j < scorer_.outputs; ++j) {
        text += fmt::format("{}{} >= {}", j > k + 1 ? " AND " : "", column(score_name(k)),
                            column(score_name(j)));
      }
      text += " THEN " + column(score_name(k));
    }
    return text + fmt::format(" ELSE {} END AS {}", column(score_name(scorer_.outputs - 1)),
                              sql_name(free_name("largest_margin")));
  }

  const Scorer& scorer_;
  const SqlOptions& options_;
};

}  // namespace

std::string sql_name(std::string_view name) { return quoted(name, '"'); }
std::string sql_text(std::string_view text) { return quoted(text, '\''); }

std::string sql_select(const Scorer& scorer, const SqlOptions& options, std::string_view about) {
  if (scorer.normalize || scorer.cosine) {
    throw Error(ErrorKind::kUsage,
                "rows of unit length are not exported to SQL; formats onnx and c have them");
  }
  if (options.probabilities && !scorer.logistic) {
    throw Error(ErrorKind::kUsage,
                "a model of {} has no probabilities; 'train logistic' makes one that has",
                scorer.learner);
  }
  std::string text = "-- ";
  for (const char c : about) text += c == '\n' || c == '\r' ? ' ' : c;
  return text + "\n" + Select(scorer, options).text() + ";\n";
}

}  // namespace meanwhile::exports
