#include "test/storage/conformance.h"

#include <gtest/gtest.h>

#include <utility>

#include "test/storage/conformance_cases.h"

namespace meanwhile::storage::conformance {
namespace {

class ConformanceTest : public testing::Test {
 public:
  ConformanceTest(Subject subject, Case what) : subject_(std::move(subject)), what_(what) {}

  void TestBody() override {
    Place place(subject_);
    what_.run(place);
  }

 private:
  const Subject subject_;
  const Case what_;
};

}  // namespace

void register_conformance(const Subject& subject) {
  std::vector<Case> cases = blob_cases();
  for (const Case& what : queue_cases()) cases.push_back(what);
  for (const Case& what : cases) {
    testing::RegisterTest(
        subject.name.c_str(), what.name, nullptr, nullptr, __FILE__, __LINE__,
        [subject, what]() -> testing::Test* { return new ConformanceTest(subject, what); });
  }
}

}  // namespace meanwhile::storage::conformance
