// Names and numbers of a model in the text of other languages. test/peers/exported.py runs the
// exported files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "meanwhile/exports/c_source.h"
#include "meanwhile/exports/number_text.h"
#include "meanwhile/exports/onnx_graph.h"
#include "meanwhile/exports/protobuf.h"
#include "meanwhile/exports/sql.h"

namespace meanwhile::exports {
namespace {

TEST(Exports, LiteralsOfCHoldQuotesTrigraphsAndBytes) {
  EXPECT_EQ(c_literal("plain"), "\"plain\"");
  EXPECT_EQ(c_literal("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(c_literal("?"
                      "?/"),
            "\"\\?\\?/\"");
  EXPECT_EQ(c_literal("\xc3\xbc"
                      "1"),
            "\"\\303\\2741\"");  // octal: a digit behind it is no part of it
  EXPECT_EQ(c_literal("a\nb"), "\"a\\012b\"");
}

TEST(Exports, NamesAndTextOfSqlDoubleTheirQuotes) {
  EXPECT_EQ(sql_name("we\"ird"), "\"we\"\"ird\"");
  EXPECT_EQ(sql_name("o'clock"), "\"o'clock\"");
  EXPECT_EQ(sql_text("it's"), "'it''s'");
  EXPECT_EQ(sql_text("\"; DROP TABLE data; --"), "'\"; DROP TABLE data; --'");
}

TEST(Exports, NumbersHaveAnExponentAndComeBack) {
  EXPECT_EQ(number_text(3), "3e0");
  EXPECT_EQ(number_text(-0.1), "-0.1e0");
  for (const double value : {1e-300, 1.0 / 3, -5e22, 12345678.9, std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::denorm_min()}) {
    EXPECT_EQ(std::strtod(number_text(value).c_str(), nullptr), value);
  }
}

TEST(Exports, WireFormat) {
  Message message;
  message.number(1, 150);  // the example of the specification
  EXPECT_EQ(message.bytes(), "\x08\x96\x01");
  Message outer;
  outer.text(2, "testing");
  outer.message(3, message);
  EXPECT_EQ(outer.bytes(), "\x12\x07testing\x1a\x03\x08\x96\x01");
  Message negative;
  negative.number(1, -1);
  EXPECT_EQ(negative.bytes(), std::string("\x08") + std::string(9, '\xff') + "\x01");
  Message far;
  far.number(20, 1);  // the key takes two bytes
  EXPECT_EQ(far.bytes(), "\xa0\x01\x01");
}

TEST(Exports, ValuesOfAGraphLeaveNamesOfInputsFree) {
  OnnxGraph graph({"v1", "v1_", "label"});
  EXPECT_EQ(graph.doubles({}, {0}), "v1__");
  EXPECT_EQ(graph.free_name("label"), "label_");
  EXPECT_EQ(graph.free_name("margins"), "margins");
}

// One cell of each kind.
Scorer scorer() {
  Scorer scorer;
  scorer.learner = "linear";
  scorer.cells = {{.name = "n", .indicator = true, .fill = 2, .first = 0},
                  {.name = "w",
                   .kind = data::ColumnKind::kCategory,
                   .levels = {"a", "b"},
                   .other = true,
                   .first = 2}};
  scorer.table_names = {"n", "w", "Prediction"};
  scorer.fills = true;
  scorer.cols = 5;
  scorer.factors.assign(5, 1.0);
  scorer.weights = {10, 20, 30, 40, 50};
  scorer.intercept = {1};
  return scorer;
}

TEST(Exports, AWordHasAStateForEachLevelOneForOthersAndOneForNone) {
  const Scorer model = scorer();
  const auto states = model.states(model.cells[1]);
  ASSERT_EQ(states.size(), 4U);
  EXPECT_EQ(model.part(model.cells[1], states[1], 0), 40);
  EXPECT_EQ(model.part(model.cells[1], states[2], 0), 50);
  EXPECT_EQ(model.part(model.cells[1], states[3], 0), 0);
}

TEST(Exports, ColumnsOfASelectAreNotNamedAsThoseOfTheTable) {
  const std::string text = sql_select(scorer(), {}, "about\n; DROP TABLE x");
  EXPECT_EQ(text.find("-- about ; DROP TABLE x\n"), 0U);
  EXPECT_NE(text.find("AS \"prediction_\""), std::string::npos) << text;
  EXPECT_NE(text.find("CASE WHEN t.\"n\" IS NULL THEN 40e0 ELSE t.\"n\" * (10e0) END"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("CASE WHEN t.\"w\" IS NULL THEN 0e0 WHEN t.\"w\" = 'a' THEN 30e0"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace meanwhile::exports
