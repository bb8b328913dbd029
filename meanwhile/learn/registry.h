// The table of learners. Whatever needs learners takes a `const Registry&`; the program, Python and
// storage workers pass the standard one, a test may pass one with a learner more.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/data/table/schema.h"
#include "meanwhile/learn/entry.h"
#include "meanwhile/learn/run_json.h"

namespace meanwhile::learn {

class Registry {
 public:
  // REQUIRES: names differ.
  explicit Registry(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  std::span<const Entry> entries() const { return entries_; }
  std::vector<std::string> names() const;
  // Null when there is none.
  const Entry* find(std::string_view name) const;
  // THROWS Error(kInput) that lists the names there are.
  const Entry& at(std::string_view name) const;

 private:
  std::vector<Entry> entries_;
};

// k-means, svm, logistic, linear, lda.
const Registry& standard_registry();
// Its entries, to make a registry with more.
std::vector<Entry> standard_entries();

struct LoadedModel {
  const Entry* entry = nullptr;  // of the registry, which must outlive it
  std::filesystem::path file;
  std::unique_ptr<Model> model;
  // The columns that it was made from; null when the data had no table, or the model is older.
  std::shared_ptr<const data::TableSchema> table = nullptr;
};

// The model in `path`: a model file, or a run directory (its newest state). THROWS Error(kInput)
// also for a damaged file: see open_model(), which adds to the notes.
LoadedModel load_model(const Registry& registry, const std::filesystem::path& path,
                       Reading& reading);
LoadedModel load_model(const Registry& registry, const std::filesystem::path& path);
// The model in a file that was opened by open_state(); `path` is its name. What the model borrows
// of the file must outlive it.
LoadedModel load_model(const Registry& registry, const data::SafetensorsFile& file,
                       const std::filesystem::path& path);

}  // namespace meanwhile::learn
