// A trained model as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "meanwhile/base/json.h"
#include "meanwhile/base/threads.h"
#include "meanwhile/data/safetensors.h"
#include "meanwhile/learn/registry.h"
#include "meanwhile/python/rows.h"

namespace meanwhile::python {

namespace nb = nanobind;

// Never changed once it is made. Thread safety: any thread.
class Model {
 public:
  // Both THROW Error(kInput) for what is no model, or a damaged one.
  explicit Model(std::vector<std::byte> bytes);
  explicit Model(const std::filesystem::path& path);

  const data::SafetensorsFile& file() const { return *file_; }
  // Keeps the bytes alive that file() borrows.
  static std::shared_ptr<const data::SafetensorsFile> share(std::shared_ptr<const Model> model);
  const learn::Entry& entry() const { return *loaded_.entry; }
  const learn::Model& model() const { return *loaded_.model; }
  std::string metadata(const char* key) const;  // empty when the file does not say
  base::Json metadata_json(const char* key) const;

  // The contents of run.json and metrics.jsonl, as they are or would be; null and empty where it is
  // not known.
  base::Json record = {};
  std::vector<base::Json> history = {};

  std::vector<double> predict(const Rows& rows, base::Threads threads) const;
  std::vector<double> probabilities(const Rows& rows, base::Threads threads) const;
  std::vector<double> transform(const Rows& rows, base::Threads threads) const;
  base::Json evaluate(const Rows& rows, base::Threads threads) const;
  std::vector<std::byte> to_bytes() const;
  void save(const std::filesystem::path& path) const;

 private:
  data::Dataset fit(const Rows& rows, base::Threads threads) const;

  std::vector<std::byte> bytes_;  // of a model that is no file
  std::optional<data::SafetensorsFile> file_;
  learn::LoadedModel loaded_;
};

void add_model(nb::module_& module);

}  // namespace meanwhile::python
