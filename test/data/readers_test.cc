#include "meanwhile/data/files/readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using std::string_literals::operator""s;

// "auto" for none.
std::string name_of(const Reader* reader) { return std::string(reader ? reader->name : "auto"); }

TEST(Readers, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Reader* reader : readers()) {
    EXPECT_TRUE(names.insert(reader->name).second) << reader->name;
    EXPECT_EQ(parse_format(std::string(reader->name)), reader);
    EXPECT_FALSE(reader->title.empty()) << reader->name;
    EXPECT_FALSE(reader->gives.empty()) << reader->name;
    EXPECT_EQ(reader->recognised_by.empty(), reader->recognise == nullptr) << reader->name;
  }
  EXPECT_EQ(parse_format("auto"), nullptr);
  EXPECT_EQ(error_of(base::ErrorKind::kUsage, [] { parse_format("xls"); }),
            "format 'xls' is unknown; known are auto, csv, jsonl, parquet, arrow, npy, npz, "
            "libsvm, idx, docword, text, "
            "ldac, safetensors");
}

TEST(Readers, AreFoundByEachOfTheirFileNames) {
  for (const Reader* reader : readers()) {
    for (const std::string_view pattern : reader->file_names) {
      if (pattern.empty()) continue;
      ASSERT_EQ(std::count(pattern.begin(), pattern.end(), '*'), 1) << pattern;
      std::string name(pattern);
      name.replace(name.find('*'), 1, "some.thing");
      for (const char* ending : {"", ".gz", ".zst"}) {
        // The first format that fits is the only one, or another test of this loop fails.
        EXPECT_EQ(name_of(reader_of_name("folder.csv/" + name + ending)), reader->name)
            << name << ending;
      }
      EXPECT_EQ(reader_of_name(name + ".bz2"), nullptr) << name;
    }
  }
}

TEST(Readers, AreFoundByFileName) {
  const std::pair<const char*, const char*> cases[] = {
      {"a/b.csv", "csv"},
      {"a/b.tsv.zst", "csv"},
      {"b.npy.gz", "npy"},
      {"a9a.t", "libsvm"},
      {"a.b.libsvm", "libsvm"},
      {"x.svm", "libsvm"},
      {"x.svmlight", "libsvm"},
      {"train-images-idx3-ubyte.gz", "idx"},
      {"digits.idx", "idx"},
      {"docword.nips.txt.gz", "docword"},
      {"docword.txt", "docword"},
      {"ap.ldac", "ldac"},
      {"ap.lda-c.gz", "ldac"},
      {"m.safetensors", "safetensors"},
      // The content decides.
      {"a.txt", "auto"},
      {"a.data", "auto"},
      {"a", "auto"},
      {"-", "auto"},
      {"csv", "auto"},
      {".csv", "auto"},
      {"a.CSV", "auto"},
      {"a.csv.gz.gz", "auto"},
      {"docword.nips", "auto"},
      {"my-docword.txt", "auto"},
      {"a.csv/b", "auto"},
      {"", "auto"},
  };
  for (const auto& [path, format] : cases) {
    EXPECT_EQ(name_of(reader_of_name(path)), format) << path;
  }
}

TEST(Readers, AreFoundByContent) {
  struct Case {
    std::string start;
    std::string_view format, where_documents_are_expected;
  };
  const Case cases[] = {
      {"\x93NUMPY\x01\x00"s, "npy", "npy"},
      {"\x93NUMP"s, "csv", "text"},
      {"\0\0\x08\x03\0\0"s, "idx", "idx"},
      {"\0\0\x0e\x08"s, "idx", "idx"},
      {"\0\0\x0f\x03"s, "csv", "text"},
      {"\0\0\x08\x09"s, "csv", "text"},
      {"\0\0\x08"s, "csv", "text"},
      {"\x40\0\0\0\0\0\0\0{\"x\""s, "safetensors", "safetensors"},
      {"\x40\0\0\0\x01\0\0\0{\"x\""s, "csv", "text"},
      {"\x40\0\0\0\0\0\0\0"s, "csv", "text"},
      // IDX of no rows and 0x7b... columns, or safetensors with a header of 0x0308 0000 bytes.
      {"\0\0\x08\x03\0\0\0\0{"s, "idx", "idx"},
      {"1 3:0.5 7:1\n", "libsvm", "libsvm"},
      {"# c\n-1\n1 3:0.5 7:1\n", "libsvm", "libsvm"},
      {"2 qid:1 3:0.5\n", "libsvm", "libsvm"},
      {"1 3:2 4:1 # x y\n2 qid:1 1:1\n", "libsvm", "libsvm"},
      {"5 12:30 trains\n", "libsvm", "text"},
      {"Meeting 12:30 at noon\nlunch 13:00 there\n", "libsvm", "text"},
      {"1500\n12419\n746316\n1 118 1\n", "docword", "docword"},
      {"3\n2\n1\n1 1 1\n", "docword", "docword"},
      {"3\n2\n0\n", "docword", "docword"},
      {"3\n2\n1\n", "csv", "csv"},
      {"3\n2\n1\n1 1 1 1\n", "csv", "csv"},
      {"3\n2\n1\n1 1 1\n1 2:3\n", "libsvm", "docword"},
      {"1\n2\n3\n4\n", "csv", "csv"},
      {"1,2\n3,4\n", "csv", "csv"},
      {"x;y\n3;-4e2\n", "csv", "csv"},
      {"x y\n1\t,2\n", "csv", "csv"},
      {"time,x\n12:30,1\n", "csv", "text"},
      {"one, two, three\nfour, five, six\n", "csv", "text"},
      {"It was a dark night.\n", "csv", "text"},
      {"# comment\n\n", "csv", "text"},
      {"", "csv", "text"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(reader_of_content(c.start, false).name, c.format) << c.start;
    EXPECT_EQ(reader_of_content(c.start, true).name, c.where_documents_are_expected) << c.start;
  }
}

// Only what stands on the first eight lines counts.
TEST(Readers, AreFoundByTheFirstLines) {
  const std::string numbers = "1\n2\n\n# 1 1:1\n3\n4\n5\n6\n7\n";  // seven lines
  EXPECT_EQ(reader_of_content(numbers + "1 1:1\n").name, "libsvm");
  EXPECT_EQ(reader_of_content(numbers + "8\n1 1:1\n").name, "csv");
}

// A new format is a line of the table in readers.cc, and the document follows.
TEST(Readers, AreListedInTheDocument) {
  std::string table =
      "| format | `--format` | file names | content | gives |\n|---|---|---|---|---|\n";
  for (const Reader* reader : readers()) {
    std::string names;
    for (const std::string_view pattern : reader->file_names) {
      if (!pattern.empty()) names += (names.empty() ? "`" : " `") + std::string(pattern) + "`";
    }
    std::string line = "|";
    for (const std::string& cell :
         {std::string(reader->title), "`" + std::string(reader->name) + "`", names,
          std::string(reader->recognised_by), std::string(reader->gives)}) {
      line += (cell.empty() ? "" : " " + cell) + " |";
    }
    table += line + "\n";
  }
  std::stringstream document;
  document << std::ifstream(MEANWHILE_TEST_DATA "/../../doc/formats.md").rdbuf();
  EXPECT_NE(document.str().find(table), std::string::npos)
      << "doc/formats.md must hold this table:\n"
      << table;
}

TEST(ReaderOfContent, NamesFormatsThatAreNotRead) {
  using testing::HasSubstr;
  const auto said = [](std::string start) {
    start += std::string(100, '\x15');
    return input_error_of([&] { reader_of_content(start); });
  };
  EXPECT_THAT(said("FEA1"), HasSubstr("is a Feather file of version 1"));
  EXPECT_THAT(said("BZh9"), HasSubstr("compressed by bzip2"));
  EXPECT_THAT(said(std::string("\xfd"
                               "7zXZ\0",
                               6)),
              HasSubstr("compressed by xz"));
  EXPECT_THAT(said("PK\x03\x04"), HasSubstr("a zip archive"));
  EXPECT_EQ(reader_of_content("PAR\n1\n").name, "csv");
}

}  // namespace
}  // namespace meanwhile::data
