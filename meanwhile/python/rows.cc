#include "meanwhile/python/rows.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meanwhile/base/error.h"
#include "meanwhile/data/files/arrow_stream.h"
#include "meanwhile/job/load_memory.h"
#include "meanwhile/python/values.h"
#include "meanwhile/python/watch.h"

namespace meanwhile::python {

using base::Error;
using base::ErrorKind;
using data::Dataset;

namespace {

using Array = nb::ndarray<nb::ro, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Names = std::vector<std::string>;

// Keeps what Python owns alive. The last owner may go on any thread.
template <class Borrowed>
std::shared_ptr<const void> keep(const Borrowed& array) {
  return {new Borrowed(array), [](const void* kept) {
            const nb::gil_scoped_acquire acquire;
            delete static_cast<const Borrowed*>(kept);
          }};
}

std::string dtype_text(const Array& array) {
  return fmt::format("{} dimensions of type code {} and {} bits", array.ndim(), array.dtype().code,
                     array.dtype().bits);
}

template <class T>
bool holds(const Array& array) {
  return array.dtype() == nb::dtype<T>();
}

template <class T>
const T* aligned(const Array& array, const char* name) {
  const auto* values = static_cast<const T*>(array.data());
  if (reinterpret_cast<std::uintptr_t>(values) % alignof(T) != 0) {
    throw Error(ErrorKind::kUsage, "{}: the array is not aligned", name);
  }
  return values;
}

// The strides of one row or one column say nothing, and those of no rows are 0.
bool is_contiguous(const Array& array) {
  if (array.size() == 0) return true;
  std::int64_t step = 1;
  for (std::size_t i = array.ndim(); i > 0; --i) {
    const auto size = static_cast<std::int64_t>(array.shape(i - 1));
    if (size > 1 && array.stride(i - 1) != step) return false;
    step *= size;
  }
  return true;
}

template <class T>
data::Dense<T> dense_of(const Array& array) {
  return {aligned<T>(array, "values"), static_cast<std::int64_t>(array.shape(0)),
          static_cast<std::int64_t>(array.shape(1))};
}

void attach(Dataset& data, const std::optional<Numbers>& labels,
            const std::optional<Numbers>& weights, Names class_names) {
  const auto rows = static_cast<std::size_t>(data::rows(data.x));
  const auto take = [&](const std::optional<Numbers>& numbers, const char* name) {
    if (!numbers) return std::span<const double>();
    if (numbers->shape(0) != rows) {
      throw Error(ErrorKind::kUsage, "{}: {} values for {} rows", name, numbers->shape(0), rows);
    }
    data.owners.push_back(keep(*numbers));
    return std::span(numbers->data(), rows);
  };
  data.labels = take(labels, "labels");
  data.weights = take(weights, "weights");
  data.class_names = std::move(class_names);
}

void name_features(Dataset& data, Names names) {
  if (!names.empty() && std::ssize(names) != data::cols(data.x)) {
    throw Error(ErrorKind::kUsage, "feature_names: {} names for {} columns", names.size(),
                data::cols(data.x));
  }
  data.feature_names = std::move(names);
}

Rows dense(const Array& values, const std::optional<Numbers>& labels,
           const std::optional<Numbers>& weights, Names feature_names, Names class_names) {
  if (values.ndim() != 2 || !is_contiguous(values)) {
    throw Error(ErrorKind::kUsage, "values: expected a C-contiguous matrix, found {}",
                dtype_text(values));
  }
  Rows rows;
  if (holds<float>(values)) {
    rows.data.x = dense_of<float>(values);
  } else if (holds<double>(values)) {
    rows.data.x = dense_of<double>(values);
  } else {
    throw Error(ErrorKind::kUsage, "values: expected float32 or float64, found {}",
                dtype_text(values));
  }
  rows.data.owners.push_back(keep(values));
  attach(rows.data, labels, weights, std::move(class_names));
  name_features(rows.data, std::move(feature_names));
  return rows;
}

// As T: borrowed where the array has that type, else copied, each number checked.
template <class T, class Other>
std::span<const T> whole_numbers(Dataset& data, const Array& array, const char* name) {
  if (array.ndim() != 1 || !is_contiguous(array)) {
    throw Error(ErrorKind::kUsage, "{}: expected a contiguous vector", name);
  }
  const std::size_t size = array.shape(0);
  if (holds<T>(array)) {
    data.owners.push_back(keep(array));
    return {aligned<T>(array, name), size};
  }
  if (!holds<Other>(array)) {
    throw Error(ErrorKind::kUsage, "{}: expected int32 or int64, found {}", name,
                dtype_text(array));
  }
  const Other* const from = aligned<Other>(array, name);
  base::Buffer<T> to(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (!std::in_range<T>(from[i])) {
      throw Error(ErrorKind::kInput, "{}[{}] is {}: there may be {} columns at most", name, i,
                  from[i], std::numeric_limits<T>::max());
    }
    to[i] = static_cast<T>(from[i]);
  }
  return own(data, std::move(to));
}

Rows sparse(const Array& row_start, const Array& columns, const Array& values,
            std::int64_t n_columns, const std::optional<Numbers>& labels,
            const std::optional<Numbers>& weights, Names feature_names, Names class_names) {
  Rows rows;
  Dataset& data = rows.data;
  const auto starts = whole_numbers<std::int64_t, std::int32_t>(data, row_start, "row_start");
  const auto places = whole_numbers<std::int32_t, std::int64_t>(data, columns, "columns");
  if (starts.empty() || values.ndim() != 1 || !is_contiguous(values) ||
      values.shape(0) != places.size() || starts.front() != 0 ||
      starts.back() != std::ssize(places)) {
    throw Error(ErrorKind::kUsage,
                "row_start, columns and values are not those of one matrix: {} starts, {} columns",
                starts.size(), places.size());
  }
  if (n_columns < 0 || n_columns > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::kInput, "n_columns is {}: there may be {} columns at most", n_columns,
                std::numeric_limits<std::int32_t>::max());
  }
  const auto set = [&]<class T>(const T* numbers) {
    data.x =
        data::Sparse<T>{starts.data(), places.data(), numbers, std::ssize(starts) - 1, n_columns};
  };
  if (holds<float>(values)) {
    set(aligned<float>(values, "values"));
  } else if (holds<double>(values)) {
    set(aligned<double>(values, "values"));
  } else {
    throw Error(ErrorKind::kUsage, "values: expected float32 or float64, found {}",
                dtype_text(values));
  }
  data.owners.push_back(keep(values));
  interruptible(data::byte_size(data), 0,
                [&](base::Threads threads) { job::check_columns(data.x, threads); });
  attach(data, labels, weights, std::move(class_names));
  name_features(data, std::move(feature_names));
  return rows;
}

// The stream is taken over: its capsule is empty afterwards, as the protocol wants.
Rows arrow(nb::handle capsule, const std::optional<std::string>& dtype,
           const std::optional<Numbers>& labels, const std::optional<Numbers>& weights,
           Names class_names, int threads) {
  auto* const stream = static_cast<data::ArrowArrayStream*>(
      PyCapsule_GetPointer(capsule.ptr(), "arrow_array_stream"));
  if (stream == nullptr) throw nb::python_error();
  std::optional<data::DType> wanted;
  if (dtype == "float32") wanted = data::DType::kFloat32;
  if (dtype == "float64") wanted = data::DType::kFloat64;
  if (dtype && !wanted) {
    throw Error(ErrorKind::kUsage, "dtype: expected float32 or float64, found {}", *dtype);
  }
  Rows rows;
  Watch watch;
  watch.run([&] {
    rows.data = data::read_arrow_stream(*stream, wanted, {all_if_zero(threads), watch.stop()});
  });
  attach(rows.data, labels, weights, std::move(class_names));
  return rows;
}

nb::tuple shape(const Rows& rows) {
  return nb::make_tuple(data::rows(rows.data.x), data::cols(rows.data.x));
}

std::uintptr_t address(const Rows& rows) {
  return std::visit([](const auto& m) { return reinterpret_cast<std::uintptr_t>(m.values); },
                    rows.data.x);
}

std::string hash(const Rows& rows, int threads) {
  std::string hex;
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { hex = data::sha256(rows.data, those); });
  return hex;
}

void check_finite(const Rows& rows, const std::string& name, int threads) {
  interruptible(data::byte_size(rows.data), threads,
                [&](base::Threads those) { data::check_finite(rows.data.x, name, those); });
}

}  // namespace

void add_rows(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Rows>(module, "Rows", "A data set in memory: the matrix, labels, weights and names.")
      .def_static("dense", &dense, "values"_a, nb::kw_only(), "labels"_a = nb::none(),
                  "weights"_a = nb::none(), "feature_names"_a = Names(), "class_names"_a = Names())
      .def_static("sparse", &sparse, "row_start"_a, "columns"_a, "values"_a, "n_columns"_a,
                  nb::kw_only(), "labels"_a = nb::none(), "weights"_a = nb::none(),
                  "feature_names"_a = Names(), "class_names"_a = Names())
      .def_static("arrow", &arrow, "stream"_a, nb::kw_only(), "dtype"_a = nb::none(),
                  "labels"_a = nb::none(), "weights"_a = nb::none(), "class_names"_a = Names(),
                  "threads"_a = 0)
      .def_prop_ro("shape", &shape)
      .def_prop_ro("dtype",
                   [](const Rows& r) { return data::is_float32(r.data.x) ? "float32" : "float64"; })
      .def_prop_ro("is_sparse", [](const Rows& r) { return data::is_sparse(r.data); })
      .def_prop_ro("stored", [](const Rows& r) { return data::stored(r.data.x); })
      .def_prop_ro("nbytes", [](const Rows& r) { return data::byte_size(r.data); })
      .def_prop_ro("feature_names", [](const Rows& r) { return r.data.feature_names; })
      .def_prop_ro("class_names", [](const Rows& r) { return r.data.class_names; })
      .def_prop_ro("address", &address)
      .def("sha256", &hash, "threads"_a = 0)
      .def("check_finite", &check_finite, "name"_a = "X", "threads"_a = 0);
}

}  // namespace meanwhile::python
