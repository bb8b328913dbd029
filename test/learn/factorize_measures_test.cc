// Measures against their definitions, written out; lists of items; rows of ratings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "meanwhile/learn/factorize/matrix_market.h"
#include "meanwhile/learn/factorize/measures.h"
#include "meanwhile/learn/factorize/ratings.h"
#include "test/expect_error.h"
#include "test/temporary_folder.h"

namespace meanwhile::learn::factorize {
namespace {

template <class T>
void fill(base::Buffer<T>& to, const std::vector<T>& from) {
  to.resize(from.size());
  std::copy(from.begin(), from.end(), to.begin());
}

RatingList list_of(const std::vector<std::uint32_t>& user, const std::vector<std::uint32_t>& item,
                   const std::vector<float>& rating) {
  RatingList list;
  list.users = {"a", "b", "c"};
  list.items = {"v", "w", "x", "y", "z"};
  fill(list.user, user);
  fill(list.item, item);
  fill(list.rating, rating);
  return list;
}

// Item i scores i * user factor + bias.
Trained model() {
  Trained model;
  model.n_factors = 1;
  model.mean = 3;
  model.biased = true;
  model.user_names = Names({"a", "b", "c"});
  model.item_names = Names({"v", "w", "x", "y", "z"});
  model.user_factors = {1, -1, 0};
  model.item_factors = {0, 1, 2, 3, 4};
  model.user_biases = {0.5, 0, 0};
  model.item_biases = {0, 0, 0, 0, 0.25};
  return model;
}

TEST(FactorizeMeasures, OfAListByHand) {
  const std::vector<std::int32_t> list = {4, 1, 2}, relevant = {1, 3};
  const RankMeasures m = rank_measures(list, relevant, 3);
  EXPECT_DOUBLE_EQ(m.precision, 1.0 / 3);
  EXPECT_DOUBLE_EQ(m.recall, 1.0 / 2);
  EXPECT_DOUBLE_EQ(m.ndcg, (1 / std::log2(3.0)) / (1 + 1 / std::log2(3.0)));
  const std::vector<std::int32_t> best = {1, 3};
  EXPECT_DOUBLE_EQ(rank_measures(best, relevant, 2).ndcg, 1);
  EXPECT_DOUBLE_EQ(rank_measures(best, relevant, 4).precision, 0.5);
  EXPECT_DOUBLE_EQ(rank_measures({}, relevant, 4).ndcg, 0);
}

TEST(FactorizeMeasures, ListsHaveTheBestItemsWithoutRatedOnes) {
  const Trained trained = model();
  const TopItems best(trained);
  TopItems::Scratch scratch;
  const auto top = [&](std::int64_t user, std::vector<std::int32_t> rated, std::int64_t count) {
    const auto list = best.top(user, rated, count, scratch);
    return std::vector<std::int32_t>(list.begin(), list.end());
  };
  EXPECT_EQ(top(0, {}, 2), (std::vector<std::int32_t>{4, 3}));
  EXPECT_EQ(top(0, {3, 4}, 2), (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(top(1, {0}, 9), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(top(2, {}, 3), (std::vector<std::int32_t>{4, 0, 1}));  // equal scores: by number
  EXPECT_TRUE(top(2, {0, 1, 2, 3, 4}, 3).empty());
}

TEST(FactorizeMeasures, UnknownUsersAndItemsGetTheMeanAndKnownBiases) {
  Trained trained = model();
  EXPECT_DOUBLE_EQ(trained.predict(-1, -1), 3);
  EXPECT_DOUBLE_EQ(trained.predict(0, -1), 3.5);
  EXPECT_DOUBLE_EQ(trained.predict(-1, 4), 3.25);
  EXPECT_DOUBLE_EQ(trained.predict(0, 4), 3 + 0.5 + 0.25 + 4);
  trained.biased = false;
  EXPECT_DOUBLE_EQ(trained.predict(0, -1), 3);
  EXPECT_DOUBLE_EQ(trained.predict(0, 4), 4);
}

TEST(FactorizeMeasures, OfAllUsersAgainstASlowComputation) {
  const Trained trained = model();
  // User b has nothing that is relevant: below the mean. Item "q" is not in the model.
  RatingList held = list_of({0, 0, 1, 2, 0}, {4, 1, 0, 2, 5}, {5, 4, 2, 3, 4});
  held.items.push_back("q");
  const Rated rated = {{3}, {}, {4}};
  std::vector<std::string> notes;
  const Json found = measures_of(trained, Feedback::kExplicit, held, rated, 2, 2, notes);
  const double errors[] = {5 - 7.75, 4 - 4.5, 2 - 3, 0, 4 - 3.5};
  double squares = 0, sizes = 0;
  for (const double e : errors) {
    squares += e * e;
    sizes += std::abs(e);
  }
  EXPECT_NEAR(found["rmse"].get<double>(), std::sqrt(squares / 5), 1e-12);
  EXPECT_NEAR(found["mae"].get<double>(), sizes / 5, 1e-12);
  EXPECT_EQ(found["unknown"], 1);
  EXPECT_EQ(found["ranked_users"], 2);
  // a: list 4 2, relevant 1 4. c: list 0 1 (4 is rated), relevant 2.
  EXPECT_DOUBLE_EQ(found["precision"].get<double>(), (0.5 + 0) / 2);
  EXPECT_DOUBLE_EQ(found["recall"].get<double>(), (0.5 + 0) / 2);
  EXPECT_DOUBLE_EQ(found["ndcg"].get<double>(), (1 / (1 + 1 / std::log2(3.0))) / 2);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("1 of 5 pairs"), std::string::npos) << notes[0];
}

TEST(FactorizeRatings, RowsAreSortedAndDuplicatesMergedAsAsked) {
  const auto rows = [](Duplicates duplicates) {
    return rows_of(list_of({1, 0, 1, 1}, {3, 2, 0, 3}, {1, 2, 3, 5}), duplicates, "test");
  };
  const auto last_of = [&](Duplicates duplicates) {
    const data::Dataset data = rows(duplicates);
    const Ratings ratings(data);
    EXPECT_EQ(ratings.users(), 3);
    EXPECT_EQ(ratings.items(), 5);
    EXPECT_EQ(ratings.of(2).items.size(), 0U);
    const UserRatings of = ratings.of(1);
    EXPECT_EQ(of.items[0], 0);
    EXPECT_EQ(of.items[1], 3);
    EXPECT_EQ(data.notes.size(), 1U);
    return of.ratings[1];
  };
  EXPECT_EQ(last_of(Duplicates::kLast), 5);
  EXPECT_EQ(last_of(Duplicates::kSum), 6);
  EXPECT_EQ(last_of(Duplicates::kMean), 3);
  const std::string message = input_error_of([&] { rows(Duplicates::kRefuse); });
  EXPECT_NE(message.find("user 'b' rates item 'y' 2 times"), std::string::npos) << message;
}

TEST(FactorizeRatings, WeightsAreTheSecondHalfOfTheColumns) {
  RatingList list = list_of({0, 0}, {4, 1}, {2, 3});
  fill(list.weight, {0.5F, 4.0F});
  const data::Dataset data = rows_of(std::move(list), Duplicates::kLast, "test");
  EXPECT_EQ(data::cols(data.x), 10);
  const Ratings ratings(data);
  ASSERT_TRUE(ratings.weighted());
  const UserRatings of = ratings.of(0);
  EXPECT_EQ(of.items[1], 4);
  EXPECT_EQ(of.ratings[1], 2);
  EXPECT_EQ(of.weights[1], 0.5F);
  EXPECT_EQ(of.weights[0], 4);
}

TEST(FactorizeRatings, RefusesWhatIsNoRating) {
  const auto refused = [](float rating, float weight) {
    RatingList list = list_of({0}, {0}, {rating});
    fill(list.weight, {weight});
    return input_error_of([&] { rows_of(std::move(list), Duplicates::kLast, "f.csv"); });
  };
  EXPECT_NE(refused(INFINITY, 1).find("f.csv: rating 1"), std::string::npos);
  EXPECT_NE(refused(1, -1).find("expected 0 or more"), std::string::npos);
}

TEST(FactorizeRatings, MatrixMarketSaysWhereItIsWrong) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    std::ofstream(folder / "r.mtx") << text;
    return read_matrix_market(folder / "r.mtx");
  };
  const std::string head = "%%MatrixMarket matrix coordinate real general\n";
  const RatingList list = read(head + "% remark\n3 2 2\n1 2 4.5\n\n3 1 2\n");
  EXPECT_EQ(list.users, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(list.item[0], 1U);
  EXPECT_EQ(list.rating[0], 4.5F);
  const std::pair<const char*, const char*> wrong[] = {
      {"3 2 2\n1 2 4.5\n", "ends after 1 of 2 ratings"},
      {"3 2 1\n4 1 1\n", "line 3: found the rating of item 1 by user 4"},
      {"3 2 1\n1 x 1\n", "line 3: found 'x', expected an item"},
      {"3 2 1\n1 1 1\n1 2 1\n", "more ratings than the file says"},
      {"2000000000 2 1\n1 1 1\n", "says that there are 2000000000 users"},
      {"0 2 1\n", "expected 1 to"},
  };
  for (const auto& [text, message] : wrong) {
    const std::string whole = head + text;
    const std::string found = input_error_of([&] { read(whole); });
    EXPECT_NE(found.find(message), std::string::npos) << found;
  }
  EXPECT_NE(input_error_of([&] {
              read("%%MatrixMarket matrix array real general\n");
            }).find("expected '%%MatrixMarket matrix coordinate"),
            std::string::npos);
}

TEST(FactorizeNames, SurviveAFileWhateverTheyHold) {
  const Names names({"", "a\nb", "\"q\"", "\xC3\xA9"});
  EXPECT_EQ(names.name(0), "");
  EXPECT_EQ(names.name(1), "a\nb");
  EXPECT_EQ(NameIndex(names).find("\"q\""), 2);
  EXPECT_FALSE(NameIndex(names).find("z").has_value());
}

}  // namespace
}  // namespace meanwhile::learn::factorize
