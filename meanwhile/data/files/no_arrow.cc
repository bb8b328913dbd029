// Instead of arrow/ in a build with MEANWHILE_ARROW=OFF.
#include "meanwhile/base/error.h"
#include "meanwhile/data/files/columnar.h"
#include "meanwhile/data/files/parquet_writer.h"

namespace meanwhile::data {

namespace {

base::Error no_arrow(const InputFile& file) {
  return base::Error(base::ErrorKind::kUsage,
                     "{}: is {}, which this build does not read (it was configured with "
                     "MEANWHILE_ARROW=OFF); 'make arrow' adds it, or save the file as CSV",
                     display_name(file.path), file.reader->title);
}

}  // namespace

template <class T>
std::unique_ptr<RowSource<T>> open_parquet_rows(const std::vector<InputFile>& files,
                                                const ReadOptions&) {
  throw no_arrow(files.front());
}

template <class T>
std::unique_ptr<RowSource<T>> open_arrow_rows(const std::vector<InputFile>& files,
                                              const ReadOptions&) {
  throw no_arrow(files.front());
}

template std::unique_ptr<RowSource<float>> open_parquet_rows(const std::vector<InputFile>&,
                                                             const ReadOptions&);
template std::unique_ptr<RowSource<double>> open_parquet_rows(const std::vector<InputFile>&,
                                                              const ReadOptions&);
template std::unique_ptr<RowSource<float>> open_arrow_rows(const std::vector<InputFile>&,
                                                           const ReadOptions&);
template std::unique_ptr<RowSource<double>> open_arrow_rows(const std::vector<InputFile>&,
                                                            const ReadOptions&);

void check_can_write_parquet() {
  throw base::Error(base::ErrorKind::kUsage,
                    "this build writes no Parquet (it was configured with MEANWHILE_ARROW=OFF); "
                    "'make arrow' adds it, or write .csv");
}

struct ParquetWriter::File {};

ParquetWriter::ParquetWriter(const std::filesystem::path&, const std::vector<std::string>&,
                             std::vector<std::string>, bool) {
  check_can_write_parquet();
}

ParquetWriter::~ParquetWriter() = default;

void ParquetWriter::append(std::span<const double>, std::int64_t) { check_can_write_parquet(); }

void ParquetWriter::commit() { check_can_write_parquet(); }

}  // namespace meanwhile::data
