#include "meanwhile/data/files/read.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <limits>
#include <thread>

#include "meanwhile/data/files/npy.h"
#include "test/data/compressed.h"
#include "test/data/parsing.h"
#include "test/data/resident.h"
#include "test/data/standard_input.h"
#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using base::ErrorKind;

class ReadTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& text) {
    write_text(folder_ / name, text);
    return folder_ / name;
  }
  std::filesystem::path npy(const std::string& name, const std::vector<float>& values,
                            const std::vector<std::int64_t>& shape) {
    write_npy(folder_ / name, std::span(values), shape);
    return folder_ / name;
  }
  std::string bytes(const std::string& name) { return base::read_file(folder_ / name); }
  // A message without the name of the folder.
  std::string error(const std::vector<std::filesystem::path>& paths,
                    const ReadOptions& options = {}, ErrorKind kind = ErrorKind::kInput) {
    std::string message = error_of(kind, [&] { read(paths, options); });
    const std::string prefix = folder_.path().string();
    for (std::size_t at; (at = message.find(prefix)) != message.npos;) {
      message.erase(at, prefix.size() + 1);
    }
    return message;
  }
  TemporaryFolder folder_;
};

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

TEST_F(ReadTest, EveryFormatAndCompressionGivesTheSameRows) {
  const std::string csv = "1,2\n3,4\n5,6\n";
  npy("a.npy", kValues, {3, 2});
  const std::vector<std::pair<std::string, std::string>> files = {
      {"a.csv", csv},
      {"a.data", csv},
      {"nameless", csv},
      {"a.csv.gz", gzip(csv)},
      {"a.csv.zst", zstd(csv)},
      {"a.txt.gz", gzip("1 2\n3 4\n5 6\n")},
      {"a.npy.gz", gzip(bytes("a.npy"))},
      {"b.npy", bytes("a.npy")},
      {"nameless-npy", bytes("a.npy")},
      {"nameless-npy.zst", zstd(bytes("a.npy"))},
      {"a-idx2-ubyte", std::string("\0\0\x08\x02\0\0\0\3\0\0\0\2\1\2\3\4\5\6", 18)},
      {"nameless-idx", std::string("\0\0\x08\x02\0\0\0\3\0\0\0\2\1\2\3\4\5\6", 18)}};
  for (const auto& [name, text] : files) {
    const auto rows = rows_of<float>(read({file(name, text)}, {}));
    EXPECT_EQ(rows.rows, 3) << name;
    EXPECT_EQ(rows.cols, 2) << name;
    EXPECT_EQ(rows.values, kValues) << name;
  }
}

TEST_F(ReadTest, SparseFormatsAreFoundByNameOrContent) {
  const std::string svm = "1 2:5\n0 1:1 3:2\n", docword = "2\n3\n2\n1 2 5\n2 1 1\n";
  for (const char* name : {"a.svm", "a.libsvm", "a.t", "nameless", "b.txt"}) {
    const auto rows = rows_of<float>(read({file(name, svm)}, {}));
    EXPECT_EQ(rows.columns, (std::vector<std::int32_t>{1, 0, 2})) << name;
  }
  for (const char* name : {"docword.x.txt", "nameless", "b.txt"}) {
    const auto rows = rows_of<float>(read({file(name, docword)}, {}));
    EXPECT_EQ(rows.values, (std::vector<float>{5, 1})) << name;
    EXPECT_EQ(rows.cols, 3);
  }
  ReadOptions options;
  options.n_features = 7;
  EXPECT_EQ(cols(read({file("a.svm", svm)}, options).x), 7);
}

TEST_F(ReadTest, TheFormatCanBeForced) {
  ReadOptions options;
  options.format = &kCsvReader;
  EXPECT_EQ(rows(read({file("a.svm", "1 2\n3 4\n")}, options).x), 2);
}

TEST_F(ReadTest, AnUncompressedBinaryFileIsMapped) {
  EXPECT_TRUE(read({npy("a.npy", kValues, {3, 2})}, {}).mapped);
  EXPECT_FALSE(read({file("a.npy.gz", gzip(bytes("a.npy")))}, {}).mapped);
}

TEST_F(ReadTest, StandardInputMayBeAnyFormat) {
  npy("a.npy", kValues, {3, 2});
  for (const std::string& text : {std::string("1,2\n3,4\n5,6\n"), gzip("1,2\n3,4\n5,6\n"),
                                  bytes("a.npy"), zstd(bytes("a.npy"))}) {
    const StandardInput input(file("input", text));
    EXPECT_EQ(rows_of<float>(read({"-"}, {})).values, kValues);
  }
  const StandardInput input(file("input", "1,2\n3,x\n"));
  EXPECT_EQ(error({"-"}).substr(0, 53), "standard input: line 2, field 2 (column 1): found 'x'");
  EXPECT_EQ(error({"-", "-"}, {}, ErrorKind::kUsage), "-: standard input can be read only once");
}

TEST_F(ReadTest, APipeIsReadOnce) {
  const auto path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { write_text(path, "1,2\n3,4\n5,6\n"); });
  const auto rows = rows_of<float>(read({path}, {}));
  writer.join();
  EXPECT_EQ(rows.values, kValues);
}

TEST_F(ReadTest, ADirectoryStandsForItsFilesInOrderOfName) {
  std::filesystem::create_directory(folder_ / "d");
  std::filesystem::create_directory(folder_ / "d" / "sub");
  file("d/b.csv", "3,4\n");
  file("d/a.csv.gz", gzip("1,2\n"));
  file("d/c.csv", "5,6");
  file("d/.hidden", "x");
  file("d/_SUCCESS", "");
  EXPECT_EQ(rows_of<float>(read({folder_ / "d"}, {})).values, kValues);
}

TEST_F(ReadTest, SaysWhatIsMissingOrEmpty) {
  std::filesystem::create_directory(folder_ / "d");
  EXPECT_EQ(error({folder_ / "d"}), "d: is a directory with no files in it");
  EXPECT_EQ(error({folder_ / "none.csv"}), "none.csv: No such file or directory");
  EXPECT_EQ(error({file("a.csv", "")}), "a.csv: has no rows");
  EXPECT_EQ(error({file("a.npy", "")}), "a.npy: has no rows: it is empty");
  EXPECT_EQ(error({file("a", "")}), "a: has no rows");
  EXPECT_EQ(error({}, {}, ErrorKind::kUsage), "no file to read");
  EXPECT_EQ(error({file("a.svm", "1\n0\n")}),
            "a.svm: every row is empty, so the number of columns is unknown; give `n_features`");
}

TEST_F(ReadTest, CutCompressedFilesOfAnyFormatAreRefused) {
  npy("a.npy", kValues, {3, 2});
  const std::string npy_gz = gzip(bytes("a.npy")), csv_gz = gzip("1,2\n3,4\n");
  EXPECT_NE(error({file("b.npy.gz", npy_gz.substr(0, npy_gz.size() - 3))}).find("was cut short"),
            std::string::npos);
  EXPECT_NE(error({file("b.csv.gz", csv_gz.substr(0, csv_gz.size() - 3))}).find("was cut short"),
            std::string::npos);
  EXPECT_NE(error({file("nameless.gz", csv_gz.substr(0, 12))}).find("was cut short"),
            std::string::npos);
}

TEST_F(ReadTest, BinaryValuesMustBeFinite) {
  EXPECT_EQ(error({npy("a.npy", {1, std::numeric_limits<float>::infinity()}, {2, 1})}).substr(0, 6),
            "a.npy:");
}

TEST_F(ReadTest, BinaryFilesAreJoined) {
  const auto one = npy("one.npy", {1, 2, 3, 4}, {2, 2}), two = npy("two.npy", {5, 6}, {1, 2});
  const auto csv = file("a.csv", "7,8\n");
  const auto joined = read({one, two, csv}, {});
  EXPECT_EQ(rows_of<float>(joined).values, (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(joined.mapped);
  const auto three = npy("three.npy", {1, 2, 3}, {1, 3});
  EXPECT_EQ(error({one, three}), "three.npy has 3 columns, but one.npy has 2 columns");
  EXPECT_EQ(error({one, file("a.svm", "1 2:5\n")}),
            "a.svm has sparse float32 values, but one.npy has dense float32 values");
  write_npy(folder_ / "double.npy", std::span<const double>(std::vector<double>{1, 2}), {1, 2});
  EXPECT_EQ(error({one, folder_ / "double.npy"}),
            "double.npy has dense float64 values, but one.npy has dense float32 values");
}

TEST_F(ReadTest, SparseFilesOfDifferentFormatsAreJoined) {
  const auto svm = file("a.svm", "1 2:5\n0 1:1 3:2\n"), words = file("docword.txt", "1\n9\n0\n");
  EXPECT_EQ(error({svm, words}), "docword.txt has no labels, but a.svm has labels");
  const auto more = file("docword.b.txt", "2\n3\n1\n2 1 4\n");
  npy("a.npy", kValues, {3, 2});
  const auto rows = rows_of<float>(read({words, more}, {}));
  EXPECT_EQ(rows.cols, 9);
  EXPECT_EQ(rows.row_start, (std::vector<std::int64_t>{0, 0, 0, 1}));
}

TEST_F(ReadTest, ColumnsAreForTables) {
  ReadOptions options;
  options.label_column = "0";
  EXPECT_EQ(error({file("a.libsvm", "1 1:2\n")}, options, ErrorKind::kUsage),
            "a.libsvm: is libsvm; label, weight and ignored columns can be named in CSV, JSON "
            "Lines, Parquet, Arrow and Feather, NPY, NPZ only");
  options.label_column = "-1";
  EXPECT_EQ(rows_of<float>(read({file("a.tsv", "a,b\ty\n1\t2\n")}, options)).labels,
            std::vector<double>{2});
}

TEST_F(ReadTest, MemoryStaysNearTheSizeOfTheArrays) {
  std::string text;
  for (int i = 0; i < 2000000; ++i) text += "1,2,3,4\n";  // 16 MB that become 64 MB
  file("a.csv", text);
  text = {};
  text.shrink_to_fit();
  ReadOptions options;
  options.dtype = DType::kFloat64;
  options.threads = 2;
  const std::int64_t peak = peak_bytes_of([&] {
    EXPECT_EQ(byte_size(read({folder_ / "a.csv"}, options)), std::int64_t{64} * 1000000);
  });
  EXPECT_LT(static_cast<double>(peak), kMemoryFactor * (1.15 * 64e6 + 32e6));
}

}  // namespace
}  // namespace meanwhile::data
