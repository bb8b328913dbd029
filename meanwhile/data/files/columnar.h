// Parquet, Arrow and Feather files, through Apache Arrow. A build without Arrow
// (MEANWHILE_ARROW=OFF) has no_arrow.cc instead, which throws Error(kUsage) that says so.
#pragma once

#include <memory>
#include <vector>

#include "meanwhile/data/files/input_files.h"
#include "meanwhile/data/files/read.h"
#include "meanwhile/data/files/row_source.h"

namespace meanwhile::data {

// See ColumnarKind::Open.
template <class T>
std::unique_ptr<RowSource<T>> open_parquet_rows(const std::vector<InputFile>& files,
                                                const ReadOptions& options);
template <class T>
std::unique_ptr<RowSource<T>> open_arrow_rows(const std::vector<InputFile>& files,
                                              const ReadOptions& options);

}  // namespace meanwhile::data
