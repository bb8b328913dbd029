#include "meanwhile/data/files/detect.h"

#include <gtest/gtest.h>

#include "test/expect_error.h"

namespace meanwhile::data {
namespace {

using std::string_literals::operator""s;

TEST(Detect, KnowsFormatsByName) {
  EXPECT_EQ(format_of_name("a/b.csv"), Format::kCsv);
  EXPECT_EQ(format_of_name("a/b.tsv.zst"), Format::kCsv);
  EXPECT_EQ(format_of_name("b.npy.gz"), Format::kNpy);
  EXPECT_EQ(format_of_name("a9a.t"), Format::kLibsvm);
  EXPECT_EQ(format_of_name("x.svmlight"), Format::kLibsvm);
  EXPECT_EQ(format_of_name("train-images-idx3-ubyte.gz"), Format::kIdx);
  EXPECT_EQ(format_of_name("docword.nips.txt.gz"), Format::kDocword);
  EXPECT_EQ(format_of_name("m.safetensors"), Format::kSafetensors);
  for (const char* name : {"a.txt", "a.data", "a", "-", "csv"}) {
    EXPECT_EQ(format_of_name(name), Format::kAuto) << name;
  }
}

TEST(Detect, KnowsFormatsByContent) {
  EXPECT_EQ(format_of_content("\x93NUMPY\x01\x00"s), Format::kNpy);
  EXPECT_EQ(format_of_content("\0\0\x08\x03\0\0"s), Format::kIdx);
  EXPECT_EQ(format_of_content("\x40\0\0\0\0\0\0\0{\"x\""s), Format::kSafetensors);
  EXPECT_EQ(format_of_content("# c\n-1\n1 3:0.5 7:1\n"), Format::kLibsvm);
  EXPECT_EQ(format_of_content("2 qid:1 3:0.5\n"), Format::kLibsvm);
  EXPECT_EQ(format_of_content("1500\n12419\n746316\n1 118 1\n"), Format::kDocword);
  EXPECT_EQ(format_of_content("3\n2\n0\n"), Format::kDocword);
  EXPECT_EQ(format_of_content("1\n2\n3\n4\n"), Format::kCsv);
  EXPECT_EQ(format_of_content("time,x\n12:30,1\n"), Format::kCsv);
  EXPECT_EQ(format_of_content(""), Format::kCsv);
}

TEST(Detect, NamesTheKnownFormats) {
  for (const Format format :
       {Format::kAuto, Format::kCsv, Format::kNpy, Format::kLibsvm, Format::kIdx, Format::kDocword,
        Format::kText, Format::kLdac, Format::kSafetensors}) {
    EXPECT_EQ(parse_format(to_string(format)), format);
  }
  EXPECT_EQ(error_of(base::ErrorKind::kUsage, [] { parse_format("xls"); }),
            "format 'xls' is unknown; known are auto, csv, npy, libsvm, idx, docword, text, ldac, "
            "safetensors");
}

}  // namespace
}  // namespace meanwhile::data
