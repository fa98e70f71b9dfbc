// Each driver call of a handover fails once, at its first, second, ... use in the process. The
// program must still compute the correct result or report the error itself.
#include <gtest/gtest.h>

#include "tests/support/machine.h"

namespace reveza::testing {
namespace call_failure_test {

using std::chrono::seconds;

class CallFailureTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CallFailureTest, LosesNothing) {
  Machine::Options options;
  options.link = "0";
  options.daemon_arguments = {"--slice-floor", "60ms", "--slice-ceiling", "100ms"};
  Machine machine(options);
  const std::vector<std::string> work{"--bytes", "160MiB", "--steps", "12", "--step-ms", "20"};
  const ProcessResult native = machine.RunNative("worker", work);
  ASSERT_EQ(native.status, 0) << native.error_output;
  machine.StartDaemon();
  for (int nth = 1; nth <= 4; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    // 304 is CUDA_ERROR_OPERATING_SYSTEM, which no healthy program sees.
    Process failing = machine.Start(
        "worker", work,
        {{"FAKECUDA_FAIL", std::string(GetParam()) + ":" + std::to_string(nth) + ":304"}});
    Process other = machine.Start("worker", work);
    const auto ended = failing.Wait(seconds(120));
    ASSERT_TRUE(ended.has_value()) << machine.Status().dump(1);
    // The program reports a failure of its own call. A failure within a handover must be invisible,
    // and a wrong result is never acceptable.
    if (ended->status == 0) {
      EXPECT_EQ(ended->Field("hash"), native.Field("hash"));
    } else {
      EXPECT_NE(ended->error_output.find("304"), std::string::npos) << ended->error_output;
    }
    const auto other_ended = other.Wait(seconds(120));
    ASSERT_TRUE(other_ended.has_value()) << machine.Status().dump(1);
    EXPECT_EQ(other_ended->status, 0) << other_ended->error_output;
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

}  // namespace call_failure_test
}  // namespace reveza::testing
