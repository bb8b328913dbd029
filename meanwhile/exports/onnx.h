// A scorer as an ONNX model, with operators of the sets "ai.onnx" 17 and "ai.onnx.ml" 3.
//
// Inputs: X [rows, columns] in float32 where all cells are numbers, NaN where one is missing; else
// one input [rows, 1] a column of the table, named as it, float32 or string ("" where a word is
// missing). Outputs: `label` [rows] (string, int64, or float64 where classes are fractions), and
// `margins`, `probabilities`, `distances` or `prediction` in float64, [rows, n]. A row that lacks a
// value for which the model has none has NaN there, and no label to be used.
#pragma once

#include <string>
#include <string_view>

#include "meanwhile/exports/scorer.h"

namespace meanwhile::exports {

// The bytes of the file. `about`: a line on the model. THROWS Error(kUsage) when it would have more
// than the 2 GB that the format allows.
std::string onnx_model(const Scorer& scorer, std::string_view about);

}  // namespace meanwhile::exports
