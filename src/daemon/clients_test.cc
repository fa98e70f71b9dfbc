#include "daemon/clients.h"

#include <gtest/gtest.h>

namespace reveza::daemon {
namespace {

TEST(ProgramName, IsTheScriptOfAnInterpreter) {
  EXPECT_EQ(ProgramName("/usr/bin/sleep 5"), "sleep");
  EXPECT_EQ(ProgramName("/usr/bin/python3 -u jobs/train.py --steps 5"), "train.py");
  EXPECT_EQ(ProgramName("python3.11 -m torch.distributed.run x.py"), "torch.distributed.run");
  EXPECT_EQ(ProgramName("python -c import torch"), "python");
  EXPECT_EQ(ProgramName("bash"), "bash");
  EXPECT_EQ(ProgramName(""), "unnamed");
}

}  // namespace
}  // namespace reveza::daemon
