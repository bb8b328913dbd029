#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/data/files/read.h"
#include "test/data/parsing.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WithoutArrow, AParquetFileSaysWhatTheBuildLacks) {
  const TemporaryFolder folder;
  for (const auto& [name, bytes, title] : {std::tuple{"table.parquet", "PAR1....PAR1", "Parquet"},
                                           std::tuple{"no_name", "PAR1....PAR1", "Parquet"},
                                           std::tuple{"x.feather", "ARROW1..", "Feather"}}) {
    const auto path = folder / name;
    write_text(path, bytes);
    EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { read({path}, {}); }),
                AllOf(HasSubstr(name), HasSubstr(title), HasSubstr("MEANWHILE_ARROW=OFF"),
                      HasSubstr("make arrow")));
  }
}

}  // namespace
}  // namespace meanwhile::data
