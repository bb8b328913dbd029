#include "meanwhile/data/files/columnar.h"

#include "meanwhile/data/files/file_start.h"
#include "meanwhile/data/files/readers.h"

namespace meanwhile::data {

namespace {

Match recognise_parquet(const FileStart& start) {
  return start.bytes.starts_with("PAR1") ? Match::kCertain : Match::kNo;
}

Match recognise_arrow(const FileStart& start) {
  return start.bytes.starts_with("ARROW1") ? Match::kCertain : Match::kNo;
}

}  // namespace

constinit const Reader kParquetReader = {
    .name = "parquet",
    .title = "Parquet",
    .file_names = {"*.parquet", "*.pq"},
    .recognised_by = "the first bytes `PAR1`",
    .gives = "dense; sparse where categories have many levels",
    .recognise = recognise_parquet,
    .has_roles = true,
    .kind = ColumnarKind{open_parquet_rows<float>, open_parquet_rows<double>},
};

constinit const Reader kArrowReader = {
    .name = "arrow",
    .title = "Arrow and Feather",
    .file_names = {"*.arrow", "*.feather", "*.arrows"},
    .recognised_by = "the first bytes `ARROW1`; a stream (`.arrows`) by its name",
    .gives = "dense; sparse where categories have many levels",
    .recognise = recognise_arrow,
    .has_roles = true,
    .kind = ColumnarKind{open_arrow_rows<float>, open_arrow_rows<double>},
};

}  // namespace meanwhile::data
