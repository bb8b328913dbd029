// A data set in the memory of Python.
#pragma once

#include <nanobind/nanobind.h>

#include "meanwhile/data/dataset.h"

namespace meanwhile::python {

namespace nb = nanobind;

// Owns or borrows as its Dataset does: owners of borrowed memory are Python's objects.
struct Rows {
  data::Dataset data;
};

void add_rows(nb::module_& module);

}  // namespace meanwhile::python
