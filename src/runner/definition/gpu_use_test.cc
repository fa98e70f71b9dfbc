#include "runner/definition/gpu_use.h"

#include <gtest/gtest.h>

namespace reveza::runner {
namespace {

TEST(MayHoldGpu, WhoClaimsMemoryOfItOrRunsUnderReveza) {
  Command command;
  EXPECT_FALSE(MayHoldGpu(command));
  command.arguments = {"python3", "train.py", "run"};
  EXPECT_FALSE(MayHoldGpu(command));
  command.claim.gpu_memory = 0;
  EXPECT_FALSE(MayHoldGpu(command));
  command.claim.gpu_memory = 1;
  EXPECT_TRUE(MayHoldGpu(command));
  command.claim.gpu_memory.reset();
  command.arguments = {"env", "A=1", "/usr/bin/reveza", "run", "--", "./train"};
  EXPECT_TRUE(MayHoldGpu(command));
  command.arguments = {"reveza", "status"};
  EXPECT_FALSE(MayHoldGpu(command));
  command.arguments = {"cd there && reveza run ./train {seed}"};
  command.shell = true;
  EXPECT_TRUE(MayHoldGpu(command));
}

}  // namespace
}  // namespace reveza::runner
