#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/storage/azure/azure.h"
#include "test/expect_error.h"

namespace meanwhile::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(WithoutAzure, AStoreSaysWhatTheBuildLacks) {
  const Location location = parse_location("azure://account/container");
  Meter meter;
  const auto lacks =
      AllOf(HasSubstr("azure://account/container"), HasSubstr("this build has no Azure storage"));
  EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { open(location, {}, meter); }), lacks);
  EXPECT_THAT(error_of(base::ErrorKind::kUsage, [&] { create_container(location, {}, meter); }),
              lacks);
}

}  // namespace
}  // namespace meanwhile::storage
