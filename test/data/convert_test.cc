#include "meanwhile/data/files/convert.h"

#include <gtest/gtest.h>

#include "meanwhile/data/files/npy.h"
#include "meanwhile/data/safetensors.h"
#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/data/resident.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

class ConvertTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    return folder_ / name;
  }
  // Converts, reads both, and checks that they are the same to the last bit.
  template <class T>
  Rows<T> expect_same(const std::vector<std::filesystem::path>& paths, ReadOptions options = {}) {
    options.dtype = std::is_same_v<T, float> ? DType::kFloat32 : DType::kFloat64;
    const auto direct = rows_of<T>(read(paths, options));
    const ConvertResult result = convert(paths, out_, options);
    const Dataset converted = read({out_}, {});
    EXPECT_TRUE(converted.mapped);
    EXPECT_TRUE(rows_of<T>(converted) == direct);
    EXPECT_EQ(result.rows, direct.rows);
    EXPECT_EQ(result.cols, direct.cols);
    EXPECT_EQ(result.stored, static_cast<std::int64_t>(direct.values.size()));
    EXPECT_EQ(result.bytes, static_cast<std::int64_t>(std::filesystem::file_size(out_)));
    return direct;
  }
  std::size_t files_left() const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      ++count;
    }
    return count;
  }
  TemporaryFolder folder_;
  std::filesystem::path out_ = folder_ / "out.safetensors";
};

TEST_F(ConvertTest, DenseTextIsWhatReadGives) {
  std::string text = "x,w,name,y\n";
  for (int i = 0; i < 5001; ++i) {
    text += fmt::format("{},{},class {},{}\n", i * 0.37, i % 3, i * i % 7, -i);
  }
  ReadOptions options;
  options.weight_column = "w";
  options.label_column = "name";
  options.threads = 3;
  const auto path = file("a.csv.gz", gzip(text));
  EXPECT_EQ(expect_same<float>({path}, options).rows, 5001);
  EXPECT_EQ(expect_same<double>({path, path}, options).rows, 10002);
}

TEST_F(ConvertTest, SparseTextIsWhatReadGives) {
  std::string text;
  for (int i = 0; i < 3001; ++i) {
    text += fmt::format("{}", i % 2);
    for (int j = 1; j < i % 6; ++j) text += fmt::format(" {}:{}", j * (1 + i % 11), 0.1 * i);
    text += "\n";
  }
  const auto path = file("a.svm", text);
  ReadOptions options;
  options.threads = 2;
  expect_same<float>({path}, options);
  expect_same<double>({path}, options);
  options.n_features = 1000;
  EXPECT_EQ(expect_same<float>({path}, options).cols, 1000);
  expect_same<float>({file("docword.a.txt", "7\n9\n3\n2 1 3\n2 4 1\n5 9 2\n")});
}

TEST_F(ConvertTest, BinaryFilesAreWhatReadGives) {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  write_npy(folder_ / "a.npy", std::span(values), {3, 2});
  const auto csv = file("a.csv", "7,8\n");
  expect_same<float>({folder_ / "a.npy"});
  expect_same<float>({folder_ / "a.npy", folder_ / "a.npy", csv});
  // And what convert wrote can be converted, labels and names included.
  const auto labelled = file("b.csv", "a,b,c\n1,2,x\n3,4,y\n5,6,x\n");
  ReadOptions options;
  options.label_column = "c";
  convert({labelled}, folder_ / "b.safetensors", options);
  const auto rows = expect_same<float>({folder_ / "b.safetensors", folder_ / "b.safetensors"});
  EXPECT_EQ(rows.class_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(rows.labels, (std::vector<double>{0, 1, 0, 0, 1, 0}));
  expect_same<double>({file("c.svm", "1 1:1\n2 2:2 3:3\n")});
  const auto again = folder_ / "c.safetensors";
  std::filesystem::rename(out_, again);
  EXPECT_EQ(expect_same<double>({again, again}).rows, 4);
}

TEST_F(ConvertTest, MoreNamesThanTheHeaderHasRoomFor) {
  std::string text = "x,y\n";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{},a class with the number {}\n", i, i);
  ReadOptions options;
  options.label_column = "y";
  EXPECT_EQ(expect_same<float>({file("a.csv", text)}, options).class_names.size(), 3000u);
}

TEST_F(ConvertTest, TheMatrixIsAlignedForMapping) {
  convert({file("a.csv", "1,2,3\n")}, out_, {});
  const SafetensorsFile converted(out_);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(converted.tensor("x").bytes.data()) % 64, 0u);
  EXPECT_EQ(converted.metadata().at("kind"), "data");
  EXPECT_EQ(converted.metadata().at("layout"), "dense");
}

TEST_F(ConvertTest, BadInputLeavesNothingBehind) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "1,2\n";
  const auto bad = file("a.csv", text + "1,x\n");
  EXPECT_NE(input_error_of([&] { convert({bad}, out_, {}); }).find("line 10001, field 2"),
            std::string::npos);
  EXPECT_EQ(files_left(), 1u);
  // And what was there before stays.
  const auto good = file("b.csv", "1,2\n");
  convert({good}, out_, {});
  const std::string before = base::read_file(out_);
  EXPECT_THROW(convert({bad}, out_, {}), base::Error);
  EXPECT_TRUE(base::read_file(out_) == before);
  EXPECT_EQ(files_left(), 3u);
}

TEST_F(ConvertTest, MemoryIsBoundedWhateverTheSizeOfTheInput) {
  std::string text;
  for (int i = 0; i < 2000000; ++i) text += "1,2,3,4\n";  // 16 MB that become 64 MB
  file("a.csv", text);
  text = {};
  text.shrink_to_fit();
  ReadOptions options;
  options.dtype = DType::kFloat64;
  options.threads = 2;
  const std::int64_t peak =
      peak_bytes_of([&] { EXPECT_EQ(convert({folder_ / "a.csv"}, out_, options).rows, 2000000); });
  EXPECT_LT(peak, kMemoryFactor * (std::int64_t{40} << 20));
}

}  // namespace
}  // namespace meanwhile::data
