// Values of Python as JSON and back, and errors of the library as exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <filesystem>
#include <string>

#include "meanwhile/base/error.h"
#include "meanwhile/base/json.h"

namespace meanwhile::python {

namespace nb = nanobind;

// THROWS Error(kUsage) with `name` for a value that is no number, text, boolean, path or list of
// these.
base::Json to_json(nb::handle value, const std::string& name);
// The object of a mapping of names; None stands for no mapping, and entries that are None are left
// out.
base::Json to_json_object(nb::handle mapping, const std::string& name);
nb::object to_python(const base::Json& json);

// The path that a str or os.PathLike names.
std::filesystem::path to_path(nb::handle path);

// A message as Python shows it: `n_clusters` is n_clusters=.
std::string with_keywords(const std::string& text);

// 0 stands for all that the process may run on.
int all_if_zero(int threads);

// Adds the classes of errors to the module and has them thrown for base::Error.
void add_errors(nb::module_& module);

}  // namespace meanwhile::python
