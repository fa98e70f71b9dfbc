#include "common/platform/process_tree.h"

#include <gtest/gtest.h>

namespace reveza::platform {
namespace process_tree_test {

TEST(CollectDescendants, ReturnsParentsFirstAndToleratesCycles) {
  const std::unordered_map<pid_t, std::vector<pid_t>> children_of = {
      {1, {10, 20}}, {10, {11, 12}}, {11, {13}}, {5, {6}}, {6, {5}}};
  EXPECT_EQ(CollectDescendants(10, children_of), (std::vector<pid_t>{10, 11, 12, 13}));
  EXPECT_EQ(CollectDescendants(20, children_of), std::vector<pid_t>{20});
  EXPECT_EQ(CollectDescendants(5, children_of), (std::vector<pid_t>{5, 6}));
}

}  // namespace process_tree_test
}  // namespace reveza::platform
