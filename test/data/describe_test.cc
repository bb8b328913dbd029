#include "meanwhile/data/files/describe.h"

#include <gtest/gtest.h>

#include <cmath>

#include "test/data/parsing.h"
#include "test/temporary_folder.h"

namespace meanwhile::data {
namespace {

using base::Json;

class DescribeTest : public testing::Test {
 protected:
  Json described(const std::string& name, const std::string& text, ReadOptions options = {}) {
    write_text(folder_ / name, text);
    options.threads = 2;
    return describe({folder_ / name}, options);
  }
  TemporaryFolder folder_;
};

TEST_F(DescribeTest, EveryKindOfColumn) {
  const Json found = described("t.csv",
                               "n,f,cut,day,ok,mixed\n"
                               "1,0.2,Ideal,2024-01-31,true,1\n"
                               "2,0.4,\"Fair\",2024-02-02,false,n.a. now\n"
                               "3,NA,Ideal,2024-02-03T12:00:00,yes,2\n"
                               "4,0.6,,2024-02-04,no,3\n");
  EXPECT_EQ(found["format"], "csv");
  EXPECT_EQ(found["rows"], 4);
  EXPECT_EQ(found["cols"], 6);
  const Json& columns = found["columns"];
  EXPECT_EQ(
      columns[0].dump(),
      R"({"column":"n","kind":"integer","missing":0,"distinct":4,"mean":2.5,"std":1.2909944487358056,)"
      R"("min":1.0,"25%":1.75,"50%":2.5,"75%":3.25,"max":4.0})");
  EXPECT_EQ(columns[1]["kind"], "number");
  EXPECT_EQ(columns[1]["missing"], 1);
  EXPECT_EQ(columns[1]["min"], 0.2);
  EXPECT_EQ(columns[1]["50%"], 0.4);
  EXPECT_EQ(
      columns[2].dump(),
      R"({"column":"cut","kind":"category","missing":1,"distinct":2,"top":[{"value":"Ideal","count":2},{"value":"Fair","count":1}]})");
  EXPECT_EQ(columns[3]["kind"], "date");
  EXPECT_EQ(columns[3]["min"], "2024-01-31");
  EXPECT_EQ(columns[3]["50%"], "2024-02-02T18:00:00");
  EXPECT_EQ(columns[4]["kind"], "boolean");
  EXPECT_EQ(columns[4]["mean"], 0.5);
  EXPECT_EQ(columns[5]["kind"], "mixed");
  EXPECT_EQ(columns[5]["distinct"], 4);
  EXPECT_EQ(columns[5]["numbers"], 3);
  EXPECT_EQ(columns[5]["top"][0]["value"], "n.a. now");
}

TEST_F(DescribeTest, ManyRowsInSeveralChunks) {
  std::string text = "x,half,id\n";
  const int rows = 300'000;
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{},row {}\n", i % 7, i / 2, i);
  const Json found = described("t.csv", text);
  const Json& columns = found["columns"];
  EXPECT_EQ(columns[0]["distinct"], 7);
  EXPECT_EQ(columns[0]["top"][0]["value"], 0.0);
  EXPECT_EQ(columns[0]["top"][0]["count"], (rows + 6) / 7);
  EXPECT_FALSE(columns[0].contains("distinct_is_estimate"));
  EXPECT_EQ(columns[1]["distinct_is_estimate"], true);
  EXPECT_NEAR(columns[1]["distinct"].get<double>() / (rows / 2), 1, 0.05);
  EXPECT_NEAR(columns[1]["mean"].get<double>(), (rows / 2 - 1) / 2.0, 1e-6);
  EXPECT_NEAR(columns[1]["std"].get<double>(), rows / 2 / std::sqrt(12), 1);
  EXPECT_FALSE(found.contains("sampled_rows"));
  EXPECT_EQ(columns[1]["25%"], 37'499.75);
  EXPECT_NEAR(columns[2]["distinct"].get<double>() / rows, 1, 0.05);
  EXPECT_EQ(columns[2]["count_is_least"], true);
}

TEST_F(DescribeTest, SparseRowsHaveZeros) {
  const Json found = described("t.libsvm", "1 1:2 3:4\n-1 2:1\n1 1:4\n");
  EXPECT_EQ(found["layout"], "sparse");
  EXPECT_EQ(found["labels"].dump(), R"({"-1":1,"1":2})");
  const Json& first = found["columns"][0];
  EXPECT_EQ(first["column"], 1);
  EXPECT_EQ(first["distinct"], 3);
  EXPECT_EQ(first["mean"], 2.0);
  EXPECT_EQ(first["min"], 0.0);
  EXPECT_EQ(first["50%"], 2.0);
}

TEST_F(DescribeTest, LabelsThatAreWords) {
  ReadOptions options;
  options.label_column = "kind";
  const Json found = described("t.csv", "width,kind\n1,cat\n1,dog\n5,cat\n", options);
  EXPECT_EQ(found["labels"].dump(), R"({"cat":2,"dog":1})");
  EXPECT_EQ(found["columns"].size(), 1u);
}

}  // namespace
}  // namespace meanwhile::data
