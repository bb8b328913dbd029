// The parameters of matrix factorisation, each described once.
#pragma once

#include <cstdint>
#include <string>

#include "meanwhile/learn/choice.h"
#include "meanwhile/learn/learner.h"

namespace meanwhile::learn::factorize {

enum class Solver { kAls, kSgd };
inline constexpr Named<Solver> kSolvers[] = {{Solver::kAls, "als"}, {Solver::kSgd, "sgd"}};
constexpr std::span<const Named<Solver>> names(Solver) { return kSolvers; }

// Meaning of a rating: a grade to be predicted, or a count of how often a user took an item.
enum class Feedback { kExplicit, kImplicit };
inline constexpr Named<Feedback> kFeedbacks[] = {{Feedback::kExplicit, "explicit"},
                                                 {Feedback::kImplicit, "implicit"}};
constexpr std::span<const Named<Feedback>> names(Feedback) { return kFeedbacks; }

// Treatment of ratings of an item by a user that are listed again.
enum class Duplicates { kAuto, kLast, kSum, kMean, kRefuse };
inline constexpr Named<Duplicates> kDuplicates[] = {{Duplicates::kAuto, "auto"},
                                                    {Duplicates::kLast, "last"},
                                                    {Duplicates::kSum, "sum"},
                                                    {Duplicates::kMean, "mean"},
                                                    {Duplicates::kRefuse, "refuse"}};
constexpr std::span<const Named<Duplicates>> names(Duplicates) { return kDuplicates; }

enum class Header { kAuto, kYes, kNo };
inline constexpr Named<Header> kHeaders[] = {
    {Header::kAuto, "auto"}, {Header::kYes, "yes"}, {Header::kNo, "no"}};
constexpr std::span<const Named<Header>> names(Header) { return kHeaders; }

// How files of ratings are read.
struct RatingsInput {
  std::string user_column = "0", item_column = "1", rating_column = "2", weight_column;
  Header header = Header::kAuto;
  std::string format = "auto";
  Duplicates duplicates = Duplicates::kAuto;
};

struct Parameters {
  Solver solver = Solver::kAls;
  Feedback feedback = Feedback::kExplicit;
  std::int64_t n_factors = 64;
  double l2 = 0.05;
  double alpha = 1;
  bool biases = true;
  std::int64_t max_iter = 15;
  double tol = 1e-4;
  std::int64_t cg_steps = 3;
  double learning_rate = 0.1;
  RatingsInput input = {};
};

// Calls visit(name, field, help) for each parameter.
template <class P, class Visit>
void describe(P& p, Visit&& visit) {
  visit("solver", p.solver,
        "als (alternating least squares), sgd (stochastic gradient descent by rotation; explicit "
        "feedback)");
  visit("feedback", p.feedback,
        "meaning of a rating: explicit (a grade to be predicted), implicit (a count, "
        "such as plays: the confidence that the user likes the item; pairs without a "
        "count weigh little)");
  visit("n_factors", p.n_factors, "number of factors of each user and item");
  visit("l2", p.l2,
        "penalty of squared factors and biases: for each rating that they take part in (explicit), "
        "or for each user and item (implicit)");
  visit("alpha", p.alpha, "implicit feedback: a count r has confidence 1 + alpha r");
  visit("biases", p.biases, "explicit feedback: learn a bias of each user and item");
  visit("max_iter", p.max_iter, "most passes over all users and items");
  visit("tol", p.tol, "stop when a pass lowers the objective by less than this fraction");
  visit("cg_steps", p.cg_steps,
        "als: conjugate gradient steps for each user and item in a pass; 0: exact "
        "solutions by Cholesky");
  visit("learning_rate", p.learning_rate, "sgd: first step size");
  visit("user_column", p.input.user_column, "column of users: a name, or a number from 0");
  visit("item_column", p.input.item_column, "column of items: a name, or a number from 0");
  visit("rating_column", p.input.rating_column,
        "column of ratings: a name, or a number from 0; empty: there is none, every rating is 1");
  visit("weight_column", p.input.weight_column, "column of weights of ratings; empty: all weigh 1");
  visit("header", p.input.header, "whether the first line of CSV holds names; auto: detect");
  visit("format", p.input.format,
        "auto (by the name of the file, or else its content), csv, parquet, libsvm (a row is a "
        "user), mtx (Matrix Market)");
  visit("duplicates", p.input.duplicates,
        "a rating that is listed again: last (the last one counts), sum, mean, refuse; auto: last "
        "for explicit feedback, sum for implicit");
}

// THROWS Error(kUsage) naming the parameter and what is allowed.
void validate(const Parameters& parameters);

Json to_json(const Parameters& parameters);
Parameters parameters_from_json(const Json& json);

// With `auto` replaced by what it stands for.
Duplicates settled_duplicates(const Parameters& parameters);

}  // namespace meanwhile::learn::factorize
