#include "meanwhile/learn/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/base/file.h"
#include "meanwhile/learn/registry.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn {
namespace {

using base::ErrorKind;
using testing::AllOf;
using testing::HasSubstr;

const Entry& entry(const char* name) { return standard_registry().at(name); }

std::string usage_error(const char* learner, const Json& given, const Resumed* resumed = nullptr) {
  return error_of(ErrorKind::kUsage, [&] { settle(entry(learner), resumed, given); });
}

TEST(Settle, NothingGivenIsTheDefaults) {
  const Json settled = settle(entry("kmeans"), nullptr, Json::object());
  EXPECT_EQ(settled.at("n_clusters"), 8);
  EXPECT_EQ(settled.at("init"), "auto");
}

TEST(Settle, AGivenValueGoesBeforeThatOfTheRunAndThatBeforeTheDefault) {
  const Resumed run{{{"n_clusters", 3}, {"max_iter", 7}, {"tol", 0.5}}, true};
  const Json settled = settle(entry("kmeans"), &run, {{"max_iter", 9}});
  EXPECT_EQ(settled.at("n_clusters"), 3);
  EXPECT_EQ(settled.at("max_iter"), 9);
  EXPECT_EQ(settled.at("tol"), 0.5);
  EXPECT_EQ(settled.at("n_init"), "auto");
}

TEST(Settle, ACountThatMayBeLeftOpenIsAWholeNumberOrAuto) {
  EXPECT_EQ(settle(entry("kmeans"), nullptr, {{"n_init", 3}}).at("n_init"), 3);
  EXPECT_EQ(settle(entry("kmeans"), nullptr, {{"n_init", "auto"}}).at("n_init"), "auto");
  for (const Json& bad : {Json(0), Json(1.5), Json("many"), Json(nullptr)}) {
    EXPECT_THAT(usage_error_of([&] {
                  settle(entry("kmeans"), nullptr, {{"n_init", bad}});
                }),
                HasSubstr("a whole number of at least 1, or auto"));
  }
  // The word is no value of other counts.
  EXPECT_THAT(usage_error_of([&] {
                settle(entry("kmeans"), nullptr, {{"n_clusters", "auto"}});
              }),
              HasSubstr("a whole number of at least 1, got \"auto\""));
}

TEST(Settle, TheOrderOfParametersDoesNotDependOnWhoGaveThem) {
  const Resumed run{{{"tol", 0.5}, {"n_clusters", 3}}, true};
  const Json defaults = settle(entry("kmeans"), nullptr, Json::object());
  const Json settled = settle(entry("kmeans"), &run, {{"max_iter", 9}});
  ASSERT_EQ(settled.size(), defaults.size());
  auto expected = defaults.begin();
  for (const auto& [name, value] : settled.items()) EXPECT_EQ(name, (expected++).key());
}

TEST(Settle, WhatDependsOnTheLearnerIsFilledIn) {
  EXPECT_EQ(settle(entry("svm"), nullptr, Json::object()).at("loss"), "hinge");
  EXPECT_EQ(settle(entry("linear"), nullptr, Json::object()).at("loss"), "squared");
}

TEST(Settle, AFixedParameterOfARunWithAStateCannotChange) {
  const Resumed run{{{"n_clusters", 3}}, true};
  EXPECT_THAT(usage_error("kmeans", {{"n_clusters", 4}}, &run),
              AllOf(HasSubstr("`n_clusters`"), HasSubstr("3"), HasSubstr("cannot be changed")));
  EXPECT_NO_THROW(settle(entry("kmeans"), &run, {{"n_clusters", 3}}));
  const Resumed killed_early{{{"n_clusters", 3}}, false};
  EXPECT_EQ(settle(entry("kmeans"), &killed_early, {{"n_clusters", 4}}).at("n_clusters"), 4);
}

TEST(Settle, AnUnknownNameIsAnsweredWithTheNearest) {
  EXPECT_THAT(usage_error("kmeans", {{"n_cluster", 3}}),
              AllOf(HasSubstr("`n_cluster`"), HasSubstr("did you mean n_clusters?")));
  // The parameter belongs to another kind of linear model.
  EXPECT_THAT(usage_error("svm", {{"huber_delta", 1}}), HasSubstr("`huber_delta`"));
}

TEST(Settle, AWrongTypeOrValueNamesTheParameter) {
  EXPECT_THAT(usage_error("kmeans", {{"n_clusters", 2.5}}), HasSubstr("`n_clusters`"));
  EXPECT_THAT(usage_error("kmeans", {{"n_clusters", 0}}), HasSubstr("at least 1"));
  EXPECT_THAT(usage_error("kmeans", {{"tol", "small"}}), HasSubstr("`tol`"));
  EXPECT_THAT(usage_error("svm", {{"adaptive", 1}}), HasSubstr("true or false"));
  EXPECT_THAT(usage_error("svm", {{"loss", "hing"}}), HasSubstr("did you mean hinge?"));
  EXPECT_THAT(usage_error("kmeans", {{"metric", "cosin"}}), HasSubstr("did you mean cosine?"));
}

TEST(Settle, AWholeNumberIsAReal) {
  EXPECT_EQ(settle(entry("svm"), nullptr, {{"l2", 1}}).at("l2"), 1.0);
}

TEST(Settle, AFileOfCentresSaysHowManyClustersThereAre) {
  const TemporaryFolder folder;
  const std::string centers = folder / "centres.csv";
  base::write_file(centers, "1,2\n3,4\n5,6\n");
  EXPECT_EQ(settle(entry("kmeans"), nullptr, {{"init", centers}}).at("n_clusters"), 3);
  EXPECT_THAT(usage_error("kmeans", {{"init", centers}, {"n_clusters", 2}}),
              AllOf(HasSubstr("`n_clusters`: 2"), HasSubstr("3 centres")));
  EXPECT_THAT(usage_error("kmeans", {{"init", folder / "absent.csv"}}), HasSubstr("`init`"));
  // A run with a state has its centres.
  const Resumed run{{{"init", folder / "gone.csv"}, {"n_clusters", 5}}, true};
  EXPECT_EQ(settle(entry("kmeans"), &run, Json::object()).at("n_clusters"), 5);
}

TEST(Settle, ParametersThatOnlyEndARunAreTold) {
  const Entry& kmeans = entry("kmeans");
  const Json a = settle(kmeans, nullptr, {{"max_iter", 5}});
  EXPECT_TRUE(same_but_for_end(kmeans.schema, a, settle(kmeans, nullptr, {{"max_iter", 6}})));
  EXPECT_FALSE(
      same_but_for_end(kmeans.schema, a, settle(kmeans, nullptr, {{"max_iter", 5}, {"tol", 0}})));
}

}  // namespace
}  // namespace meanwhile::learn
