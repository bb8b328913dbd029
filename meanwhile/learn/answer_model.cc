#include "meanwhile/learn/answer_model.h"

#include "meanwhile/base/error.h"

namespace meanwhile::learn {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw base::Error(
      base::ErrorKind::kUsage,
      "a {} model is its own answer and takes no data; 'predict RUN --out FILE' writes "
      "it",
      what);
}

}  // namespace

void AnswerModel::transform(const data::Dataset&, std::int64_t, std::int64_t, base::Threads,
                            std::span<double>) const {
  refuse(what_);
}

Json AnswerModel::evaluate(const data::Dataset&, base::Threads, const Measuring&) const {
  refuse(what_);
}

}  // namespace meanwhile::learn
