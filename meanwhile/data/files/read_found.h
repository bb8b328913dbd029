// read() of files whose formats were looked at before.
#pragma once

#include <vector>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"

namespace meanwhile::data {

// read() of the files of find_checked_inputs(). Standard input among them is opened already.
Dataset read_found(std::vector<InputFile> files, const ReadOptions& asked);

}  // namespace meanwhile::data
