#include "platform/process_threads.h"

#include <gtest/gtest.h>

#include "platform/testing_directory.h"

namespace reveza::platform {
namespace {

TEST(ProcessThreads, AreReadFromARecordedTree) {
  const TestingDirectory root;
  root.Write("proc/5/task/6/stat", "6 (a) b) R 1 5 5 0 -1 4194304 9 0 0 0 30 12 0 0 20 0 3 0 77\n");
  root.Write("proc/5/task/6/status",
             "Name:\ta\nvoluntary_ctxt_switches:\t400\nnonvoluntary_ctxt_switches:\t7\n");
  root.Write("proc/5/task/7/stat", "cut");
  const auto threads = ReadThreads(5, true, 512, root.path());
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0], (ThreadState{6, 'R', 42, 400}));
  EXPECT_EQ(ReadThreads(5, false, 512, root.path()).at(0).waits, std::nullopt);
  EXPECT_TRUE(ReadThreads(5, false, 0, root.path()).empty());
  EXPECT_TRUE(ReadThreads(8, true, 512, root.path()).empty());
}

TEST(ProcessThreads, OfThisProcessAreThere) {
  const auto threads = ReadThreads(0, true);
  ASSERT_FALSE(threads.empty());
  EXPECT_TRUE(threads[0].waits);
}

}  // namespace
}  // namespace reveza::platform
