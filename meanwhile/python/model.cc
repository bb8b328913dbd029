#include "meanwhile/python/model.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/base/file.h"
#include "meanwhile/job/save_run.h"
#include "meanwhile/learn/fit_columns.h"
#include "meanwhile/learn/metadata.h"
#include "meanwhile/learn/state_file.h"
#include "meanwhile/python/values.h"
#include "meanwhile/python/watch.h"

namespace meanwhile::python {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

using Vector = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using Table = nb::ndarray<nb::numpy, double, nb::ndim<2>>;

// An array of numpy that owns `values`.
template <class Array>
Array give(std::vector<double> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(
      kept, [](void* old) noexcept { delete static_cast<std::vector<double>*>(old); });
  return Array(kept->data(), shape, owner);
}

std::size_t row_count(const Rows& rows) {
  return static_cast<std::size_t>(data::rows(rows.data.x));
}

Vector predict(const Model& model, const Rows& rows, int threads) {
  std::vector<double> values;
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { values = model.predict(rows, those); });
  return give<Vector>(std::move(values), {row_count(rows)});
}

Table probabilities(const Model& model, const Rows& rows, int threads) {
  std::vector<double> values;
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { values = model.probabilities(rows, those); });
  return give<Table>(std::move(values), {row_count(rows), model.model().classes().size()});
}

Table transform(const Model& model, const Rows& rows, int threads) {
  std::vector<double> values;
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { values = model.transform(rows, those); });
  const auto cols = static_cast<std::size_t>(model.model().transformed_cols());
  return give<Table>(std::move(values), {row_count(rows), cols});
}

nb::object evaluate(const Model& model, const Rows& rows, int threads) {
  Json measures;
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { measures = model.evaluate(rows, those); });
  return to_python(measures);
}

nb::dlpack::dtype dtype_of(const data::Tensor& tensor) {
  if (tensor.dtype == "F32") return nb::dtype<float>();
  if (tensor.dtype == "F64") return nb::dtype<double>();
  if (tensor.dtype == "I32") return nb::dtype<std::int32_t>();
  if (tensor.dtype == "I64") return nb::dtype<std::int64_t>();
  if (tensor.dtype == "U16") return nb::dtype<std::uint16_t>();
  if (tensor.dtype == "U32") return nb::dtype<std::uint32_t>();
  if (tensor.dtype == "U8") return nb::dtype<std::uint8_t>();
  throw Error(ErrorKind::kInput, "a tensor of type {}", tensor.dtype);
}

// Views that keep the model alive.
nb::dict tensors(nb::handle self) {
  const auto& model = nb::cast<const Model&>(self);
  nb::dict dict;
  for (const auto& [name, tensor] : learn::learned_tensors(model.file())) {
    const std::vector<std::size_t> shape(tensor.shape.begin(), tensor.shape.end());
    using View = nb::ndarray<nb::numpy, nb::ro>;
    View view(tensor.bytes.data(), shape.size(), shape.data(), self, nullptr, dtype_of(tensor));
    dict[nb::cast(name)] = nb::cast(view);
  }
  return dict;
}

nb::bytes to_bytes(const Model& model) {
  const std::vector<std::byte> bytes = model.to_bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

std::shared_ptr<Model> from_bytes(const nb::bytes& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  return std::make_shared<Model>(std::vector<std::byte>(data, data + bytes.size()));
}

}  // namespace

Model::Model(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
  file_.emplace(learn::open_state(bytes_, "model"));
  loaded_ = learn::load_model(learn::standard_registry(), *file_, "model");
}

Model::Model(const std::filesystem::path& path) {
  learn::OpenedState opened = learn::open_model(path);
  file_.emplace(std::move(opened.file));
  loaded_ = learn::load_model(learn::standard_registry(), *file_, opened.path);
}

std::shared_ptr<const data::SafetensorsFile> Model::share(std::shared_ptr<const Model> model) {
  const data::SafetensorsFile* const file = &model->file();
  return {std::move(model), file};
}

std::string Model::metadata(const char* key) const {
  const auto found = file_->metadata().find(key);
  return found == file_->metadata().end() ? "" : found->second;
}

Json Model::metadata_json(const char* key) const {
  return learn::metadata_json(*file_, key, "a model");
}

data::Dataset Model::fit(const Rows& rows, base::Threads threads) const {
  return learn::fit_columns(rows.data, loaded_, threads);
}

std::vector<double> Model::predict(const Rows& rows, base::Threads threads) const {
  return model().predict(fit(rows, threads), threads).values;
}

std::vector<double> Model::probabilities(const Rows& rows, base::Threads threads) const {
  const data::Dataset data = fit(rows, threads);
  std::vector<double> values(row_count(rows) * model().classes().size());
  model().probabilities(data, 0, data::rows(data.x), threads, values);
  return values;
}

std::vector<double> Model::transform(const Rows& rows, base::Threads threads) const {
  const data::Dataset data = fit(rows, threads);
  std::vector<double> values(row_count(rows) *
                             static_cast<std::size_t>(model().transformed_cols()));
  model().transform(data, 0, data::rows(data.x), threads, values);
  return values;
}

Json Model::evaluate(const Rows& rows, base::Threads threads) const {
  return model().evaluate(fit(rows, threads), threads);
}

std::vector<std::byte> Model::to_bytes() const {
  if (!bytes_.empty()) return bytes_;
  return data::safetensors_bytes(file_->tensors(), file_->metadata());
}

void Model::save(const std::filesystem::path& path) const {
  if (path.extension() == ".safetensors") {
    base::FileWriter writer(path);
    writer.write(std::span<const std::byte>(to_bytes()));
    writer.commit();
  } else {
    job::save_run(path, *file_, record, history);
  }
}

void add_model(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Model>(module, "Model", "A trained model, whatever learner made it.")
      .def_prop_ro("learner", [](const Model& m) { return m.entry().name; })
      .def_prop_ro("sha256",
                   [](const Model& m) { return data::sha256(learn::learned_tensors(m.file())); })
      .def_prop_ro("parameters",
                   [](const Model& m) { return to_python(m.metadata_json("parameters")); })
      .def_prop_ro("rounds", [](const Model& m) { return learn::rounds_of(m.file()); })
      .def_prop_ro("metadata", [](const Model& m) { return m.file().metadata(); })
      .def_prop_ro("n_columns", [](const Model& m) { return m.model().cols(); })
      .def_prop_ro("feature_names", [](const Model& m) { return m.model().columns().names; })
      .def_prop_ro("has_labels", [](const Model& m) { return m.model().has_labels(); })
      .def_prop_ro("classes", [](const Model& m) { return m.model().classes(); })
      .def_prop_ro("ended", [](const Model& m) { return learn::ended_of(m.file()).because; })
      .def("tensors", &tensors)
      .def("about", [](const Model& m) { return to_python(m.metadata_json("about")); })
      .def("describe", [](const Model& m) { return to_python(m.model().describe()); })
      .def("predict", &predict, "rows"_a, "threads"_a = 0)
      .def("prediction_names",
           [](const Model& m) {
             // No rows are needed: names belong to the model.
             data::Dataset none;
             none.x = data::Dense<double>{nullptr, 0, m.model().cols()};
             return m.model().has_labels() ? m.model().predict(none, 1).names
                                           : std::vector<std::string>();
           })
      .def("probabilities", &probabilities, "rows"_a, "threads"_a = 0)
      .def("transform", &transform, "rows"_a, "threads"_a = 0)
      .def("evaluate", &evaluate, "rows"_a, "threads"_a = 0)
      .def("to_bytes", &to_bytes)
      .def_static("from_bytes", &from_bytes, "data"_a)
      .def(
          "save", [](const Model& m, nb::handle path) { m.save(to_path(path)); }, "path"_a);
  module.def(
      "load_model", [](nb::handle path) { return std::make_shared<Model>(to_path(path)); },
      "path"_a);
  module.def(
      "read_run",
      [](nb::handle path) {
        learn::Reading reading;
        return to_python(learn::read_run_json(to_path(path), reading));
      },
      "path"_a);
}

}  // namespace meanwhile::python
