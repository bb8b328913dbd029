// Names for what a model of rows says, and what it learned as a table. A model whose transform()
// gives no margins is one of these, too; see Answers.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace meanwhile::learn {

class ModelTables {
 public:
  virtual ~ModelTables() = default;

  // The label of a row.
  virtual std::string label_name() const { return "prediction"; }
  // The columns of Model::transform(), as many.
  virtual std::vector<std::string> transformed_names() const = 0;
  // The table of what was learned: CSV with a header. Empty: no table has place for it.
  virtual std::string summary_csv() const { return {}; }
};

// "topic_0", "topic_1", ...
inline std::vector<std::string> numbered_names(std::string_view name, std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}_{}", name, i));
  return names;
}

}  // namespace meanwhile::learn
