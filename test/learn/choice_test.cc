#include "meanwhile/learn/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/learn/described.h"
#include "meanwhile/learn/ending.h"
#include "test/expect_error.h"

namespace meanwhile::learn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

enum class Color { kRed, kBlue, kNone };
constexpr Named<Color> kColors[] = {
    {Color::kRed, "red"}, {Color::kBlue, "blue"}, {Color::kNone, ""}};
constexpr std::span<const Named<Color>> names(Color) { return kColors; }

struct Paint {
  Color color = Color::kRed;
  OpenChoice<Color> other = Color::kNone;
  std::optional<Color> chosen;
};
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("color", p.color, "");
  visit("other", p.other, "");
  visit("chosen", p.chosen, "");
}

TEST(Choice, IsItsNameInJson) {
  const Json json = described_json(Paint{Color::kBlue, Color::kRed, Color::kBlue});
  EXPECT_EQ(json, (Json{{"color", "blue"}, {"other", "red"}, {"chosen", "blue"}}));
  const auto paint = from_described<Paint>(json, "paint");
  EXPECT_EQ(paint.color, Color::kBlue);
  EXPECT_EQ(paint.other, Color::kRed);
  EXPECT_EQ(paint.chosen, Color::kBlue);
}

TEST(Choice, AnOptionalOneThatIsNotSetIsAbsent) {
  const Json json = described_json(Paint{});
  EXPECT_EQ(json, (Json{{"color", "red"}, {"other", ""}}));
  EXPECT_EQ(from_described<Paint>(json, "paint").chosen, std::nullopt);
}

TEST(Choice, AnUnknownNameIsRefusedWithTheParameterAndWhatIsAllowed) {
  EXPECT_THAT(usage_error_of([] {
                from_described<Paint>({{"color", "green"}}, "paint");
              }),
              HasSubstr("color is 'green'; it must be one of: red, blue"));
  EXPECT_THAT(input_error_of([] {
                from_described<Paint>({{"color", 3}}, "paint");
              }),
              HasSubstr("parameters of paint: "));
}

TEST(Choice, WhatHasNoNameIsNotOffered) {
  EXPECT_THAT(choices<Color>(), ElementsAre("red", "blue"));
  EXPECT_THAT(choices(std::vector{Color::kBlue}), ElementsAre("blue"));
}

TEST(OpenChoice, OtherTextIsKeptAndANameIsTheChoice) {
  const OpenChoice<Color> text("mauve"), name("blue");
  EXPECT_EQ(text.named(), std::nullopt);
  EXPECT_EQ(text.text(), "mauve");
  EXPECT_EQ(name, Color::kBlue);
  EXPECT_EQ(name, OpenChoice<Color>(Color::kBlue));
  EXPECT_NE(text, name);
}

TEST(Ending, IsFoundInTheTextOfAStateFile) {
  EXPECT_FALSE(ended_from_text(""));
  EXPECT_EQ(ended_from_text("converged: no centre moved").ending, Ending::kConverged);
  EXPECT_EQ(ended_from_text("max_iter: 3 rounds done").ending, Ending::kRanOut);
  EXPECT_EQ(ended_from_text("passes (2) done").ending, Ending::kRanOut);
  EXPECT_EQ(ended_from_text("max_documents (7) seen").ending, Ending::kRanOut);
  EXPECT_EQ(ended_from_text("the held-out loss has not fallen").ending, Ending::kStopped);
  EXPECT_EQ(Json(ended_from_text("passes (2) done")), "passes (2) done");
}

}  // namespace
}  // namespace meanwhile::learn
