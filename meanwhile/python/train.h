// A run from rows in memory, for a caller who may press Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

namespace meanwhile::python {

void add_train(nanobind::module_& module);

}  // namespace meanwhile::python
