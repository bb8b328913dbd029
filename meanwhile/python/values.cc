#include "meanwhile/python/values.h"

#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <exception>

#include "meanwhile/base/parallel.h"
#include "meanwhile/base/parameter_name.h"

namespace meanwhile::python {

using base::Error;
using base::ErrorKind;
using base::Json;

namespace {

// Numbers of numpy are no subclasses of Python's, but convert to them.
bool is_number(nb::handle value) {
  return PyFloat_Check(value.ptr()) || PyIndex_Check(value.ptr()) ||
         nb::hasattr(value, "__float__");
}

bool is_boolean(nb::handle value) {
  const auto type = nb::borrow<nb::object>(value.type());
  const auto name = nb::cast<std::string>(type.attr("__name__"));
  return PyBool_Check(value.ptr()) || name == "bool_" || name == "bool";
}

Json whole_number(nb::handle value, const std::string& name) {
  const auto number = nb::steal<nb::object>(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow == 0) return small;
  const unsigned long long large = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw Error(ErrorKind::kUsage, "{}: the number is too large", base::parameter(name));
  }
  return std::uint64_t{large};
}

struct Kinds {
  PyObject* base = nullptr;
  std::array<PyObject*, 4> of_kind = {};  // in the order of ErrorKind
};

void translate(const std::exception_ptr& thrown, void* payload) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    const Kinds& kinds = *static_cast<const Kinds*>(payload);
    const std::string text = with_keywords(error.what());
    const auto kind = static_cast<std::size_t>(error.kind());
    PyObject* const type =
        kind < kinds.of_kind.size() ? kinds.of_kind[kind] : PyExc_KeyboardInterrupt;
    PyErr_SetString(type, text.c_str());
  }
}

PyObject* make_error(nb::module_& module, const char* name, const char* text, nb::handle bases) {
  const std::string full = std::string("meanwhile.") + name;
  PyObject* const type = PyErr_NewExceptionWithDoc(full.c_str(), text, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

}  // namespace

Json to_json(nb::handle value, const std::string& name) {
  if (value.is_none()) return nullptr;
  if (is_boolean(value)) return PyObject_IsTrue(value.ptr()) == 1;
  if (PyUnicode_Check(value.ptr())) return nb::cast<std::string>(value);
  if (nb::hasattr(value, "__fspath__")) return to_path(value).string();
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
    Json list = Json::array();
    for (const nb::handle each : nb::borrow<nb::object>(value)) {
      list.push_back(to_json(each, name));
    }
    return list;
  }
  if (PyIndex_Check(value.ptr())) return whole_number(value, name);
  if (is_number(value)) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return number;
  }
  throw Error(ErrorKind::kUsage, "{}: expected a number, a text or a boolean, found {}",
              base::parameter(name), nb::cast<std::string>(nb::repr(value.type())));
}

Json to_json_object(nb::handle mapping, const std::string& name) {
  Json object = Json::object();
  if (mapping.is_none()) return object;
  if (!PyMapping_Check(mapping.ptr()) || !nb::hasattr(mapping, "items")) {
    throw Error(ErrorKind::kUsage, "{}: expected a mapping of names to values",
                base::parameter(name));
  }
  for (const nb::handle item : mapping.attr("items")()) {
    const auto key = nb::cast<std::string>(item[0]);
    Json value = to_json(item[1], key);
    if (!value.is_null()) object[key] = std::move(value);
  }
  return object;
}

nb::object to_python(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return nb::bool_(json.get<bool>());
    case Json::value_t::number_integer:
      return nb::int_(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return nb::int_(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return nb::float_(json.get<double>());
    case Json::value_t::string:
      return nb::cast(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      nb::list list;
      for (const Json& each : json) list.append(to_python(each));
      return list;
    }
    case Json::value_t::object: {
      nb::dict dict;
      for (const auto& [key, value] : json.items()) dict[nb::cast(key)] = to_python(value);
      return dict;
    }
    default:
      return nb::none();
  }
}

std::filesystem::path to_path(nb::handle path) {
  const auto text = nb::steal<nb::object>(PyOS_FSPath(path.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  if (PyBytes_Check(text.ptr())) return PyBytes_AsString(text.ptr());
  return nb::cast<std::string>(text);
}

std::string with_keywords(const std::string& text) {
  return base::with_parameters(text, [](std::string_view name) { return std::string(name) + "="; });
}

int all_if_zero(int threads) { return threads == 0 ? base::hardware_threads() : threads; }

void add_errors(nb::module_& module) {
  auto* const kinds = new Kinds;  // as long as the module, which is never unloaded
  kinds->base = make_error(module, "Error", "The error that ended a call.", PyExc_Exception);
  const auto with = [&](PyObject* other) {
    return nb::make_tuple(nb::borrow(kinds->base), nb::borrow(other));
  };
  kinds->of_kind = {
      make_error(module, "UsageError", "An argument is wrong.", with(PyExc_ValueError)),
      make_error(module, "InputError", "The rows, or a file, are not what the call needs.",
                 with(PyExc_ValueError)),
      make_error(module, "HostError",
                 "The operating system refused: no memory, no space, no such file.",
                 with(PyExc_OSError)),
      make_error(module, "FailedError",
                 "The computation cannot go on: it diverged, or a worker was lost.",
                 with(PyExc_RuntimeError))};
  nb::register_exception_translator(translate, kinds);
}

}  // namespace meanwhile::python
