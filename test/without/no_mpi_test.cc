#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "meanwhile/transport/mpi.h"
#include "test/expect_error.h"

namespace meanwhile::transport {
namespace {

TEST(WithoutMpi, ASessionSaysWhatTheBuildLacks) {
  EXPECT_THAT(error_of(base::ErrorKind::kUsage, [] { MpiSession session; }),
              ::testing::HasSubstr("this build has no MPI"));
}

}  // namespace
}  // namespace meanwhile::transport
