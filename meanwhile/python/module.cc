// The module meanwhile._native: what Python calls of the library. python/meanwhile/_native.pyi is
// its contract. There is nothing here that decides: arguments are turned into a RunSpec, and what
// job::run and a model return into Python's values.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "meanwhile/base/version.h"
#include "meanwhile/cli/run_program.h"
#include "meanwhile/python/model.h"
#include "meanwhile/python/rows.h"
#include "meanwhile/python/train.h"
#include "meanwhile/python/values.h"

namespace nb = nanobind;
namespace python = meanwhile::python;

NB_MODULE(_native, module) {
  using namespace nb::literals;
  module.attr("__version__") = meanwhile::base::kVersion;
  python::add_errors(module);
  python::add_rows(module);
  python::add_model(module);
  python::add_train(module);
  // The program itself. It takes over signals and writes to the process's own output: for the
  // command that the package installs, not for a session.
  module.def(
      "run_program",
      [](const std::vector<std::string>& command_line) {
        const nb::gil_scoped_release release;
        return meanwhile::cli::run_program(command_line, meanwhile::learn::standard_registry());
      },
      "command_line"_a);
}
