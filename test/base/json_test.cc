#include "meanwhile/base/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "meanwhile/base/error.h"
#include "test/expect_error.h"

namespace meanwhile::base {
namespace {

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, DeepNestingIsRefusedByName) {
  EXPECT_EQ(parse_json(nested(kMostJsonDepth), "a").size(), 1u);
  EXPECT_EQ(input_error_of([] { parse_json(nested(kMostJsonDepth + 1), "job.json"); }),
            "job.json: is nested deeper than 64 levels");
  EXPECT_FALSE(try_parse_json(nested(200'000)));
  EXPECT_FALSE(try_parse_json(std::string(1'000'000, '[')));
  EXPECT_FALSE(try_parse_json(fmt::format("{{\"about\":{}", std::string(1'000'000, '['))));
}

TEST(Json, BracketsInStringsDoNotCount) {
  const std::string text = fmt::format("[\"{}{}", std::string(200, '['), R"(\"]]]\\", "{{"])");
  EXPECT_EQ(parse_json(text, "a").size(), 2u);
}

TEST(Json, LargeTextAndManyKeysAreRefused) {
  EXPECT_EQ(input_error_of([] { parse_json("[1, 2, 3]", "record", 8); }),
            "record: has 9 bytes, the limit is 8");
  const auto object = [](int keys) {
    std::string text = "{";
    for (int i = 0; i < keys; ++i) text += fmt::format("\"{}\":0{}", i, i + 1 < keys ? "," : "");
    return text + "}";
  };
  EXPECT_EQ(parse_json(object(kMostJsonKeys), "a").size(), static_cast<std::size_t>(kMostJsonKeys));
  EXPECT_EQ(input_error_of([&] { parse_json(object(kMostJsonKeys + 1), "a"); }),
            "a: has an object of more than 1000 keys");
  // Each object counts for itself.
  EXPECT_TRUE(try_parse_json(fmt::format("[{},{}]", object(600), object(600))));
}

TEST(Json, WhatIsNoJsonIsNamedOrNothing) {
  for (const char* text : {"", "{", "]", "{]", "[1,]", "nul", "\"\xff\"", "1e999", "[1] 2"}) {
    EXPECT_FALSE(try_parse_json(text)) << text;
    EXPECT_THAT(input_error_of([&] { parse_json(text, "result.json"); }),
                testing::StartsWith("result.json: "));
  }
  EXPECT_TRUE(try_parse_json("5"));
  EXPECT_FALSE(try_parse_object("5"));
  EXPECT_FALSE(try_parse_object("[]"));
  EXPECT_TRUE(try_parse_object("{}"));
}

TEST(Json, ValuesOfOtherTypesGiveTheDefault) {
  for (const char* text :
       {"[]", "null", "5", "\"x\"", "{}", R"({"a": []})", R"({"a": null})", R"({"a": {}})"}) {
    const Json json = parse_json(text, "a");
    EXPECT_EQ(number_or(json, "a", 2.5), 2.5) << text;
    EXPECT_EQ(integer_or(json, "a", 7), 7) << text;
    EXPECT_EQ(count_or(json, "a", 7), 7) << text;
    EXPECT_EQ(text_or(json, "a", "none"), "none") << text;
    EXPECT_TRUE(flag_or(json, "a", true)) << text;
  }
  EXPECT_TRUE(member_or_null(Json(5), "a").is_null());
  for (const char* text : {"{}", "5", "[1]", R"(["a", null])"}) {
    EXPECT_FALSE(texts_in(parse_json(text, "a"))) << text;
  }
  EXPECT_EQ(texts_in(parse_json(R"(["a", "b"])", "a")), (std::vector<std::string>{"a", "b"}));
}

TEST(Json, ValuesOfTheTypeAreGiven) {
  const Json json =
      parse_json(R"({"d": 1.5, "i": -3, "u": 18446744073709551615, "t": "x", "b": false})", "a");
  EXPECT_EQ(number_or(json, "d", 0), 1.5);
  EXPECT_EQ(number_or(json, "i", 0), -3);
  EXPECT_EQ(integer_or(json, "i", 0), -3);
  EXPECT_EQ(count_or(json, "i", 4), 4);
  EXPECT_EQ(integer_or(json, "d", 4), 4);
  EXPECT_EQ(integer_or(json, "u", 4), 4);  // more than 64 bits with a sign hold
  EXPECT_EQ(text_or(json, "t", ""), "x");
  EXPECT_FALSE(flag_or(json, "b", true));
  EXPECT_EQ(member_or_null(json, "t"), Json("x"));
}

}  // namespace
}  // namespace meanwhile::base
