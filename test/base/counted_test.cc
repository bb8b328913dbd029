#include "meanwhile/base/counted.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace meanwhile::base {
namespace {

TEST(Counted, OneIsSingularAndOthersArePlural) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(std::size_t{12}, "worker"), "12 workers");
  EXPECT_EQ(counted(1.0, "round"), "1 round");
  EXPECT_EQ(counted(1, "pass"), "1 pass");
  EXPECT_EQ(counted(3, "class"), "3 classes");
}

}  // namespace
}  // namespace meanwhile::base
