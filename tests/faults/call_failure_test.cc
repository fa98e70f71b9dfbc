// Every driver call that a handover makes fails once, at the first, second, ... time that it is
// made in the process; the program must end with the right result all the same.
#include <gtest/gtest.h>

#include "machine.h"

namespace reveza::testing {
namespace {

using std::chrono::seconds;

class CallFailureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CallFailureTest, LosesNothing) {
  Machine::Options options;
  options.link = "0";
  options.daemon_arguments = {"--slice-floor", "60ms", "--slice-ceiling", "100ms"};
  Machine machine(options);
  const std::vector<std::string> work{"--bytes", "160MiB", "--steps", "12", "--step-ms", "20"};
  const Ended native = machine.Native("worker", work);
  ASSERT_EQ(native.status, 0) << native.complaint;
  machine.StartDaemon();
  for (int nth = 1; nth <= 4; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    // 304: CUDA_ERROR_OPERATING_SYSTEM, which no call of a healthy program answers.
    Process failing = machine.Start(
        "worker", work,
        {{"FAKECUDA_FAIL", std::string(GetParam()) + ":" + std::to_string(nth) + ":304"}});
    Process other = machine.Start("worker", work);
    const auto ended = failing.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
    // A failure within the program's own call is the program's to report; within ours it must
    // not be seen. Wrong results are never allowed.
    if (ended->status == 0) {
      EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
    } else {
      EXPECT_NE(ended->complaint.find("304"), std::string::npos) << ended->complaint;
    }
    const auto other_ended = other.Wait(seconds(120));
    ASSERT_TRUE(other_ended.has_value()) << machine.Status().dump(1);
    EXPECT_EQ(other_ended->status, 0) << other_ended->complaint;
    EXPECT_EQ(other_ended->Field("hash"), native.Field("hash"));
  }
  EXPECT_TRUE(machine.GpuIsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Calls, CallFailureTest,
                         ::testing::Values("cuMemCreate", "cuMemMap", "cuMemSetAccess",
                                           "cuMemUnmap", "cuMemRelease", "cuMemAddressReserve",
                                           "cuMemHostRegister", "cuMemcpyDtoHAsync",
                                           "cuMemcpyHtoDAsync", "cuStreamCreate",
                                           "cuStreamSynchronize", "cuEventCreate", "cuEventRecord",
                                           "cuEventSynchronize", "cuCtxRecordEvent"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace reveza::testing
