#include "runner/engine/step_witness.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/bytes.h"
#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

struct StepWitnessTest : testing::Test {
  StepWitnessTest() { root_.Write("proc/sys/vm/max_map_count", "100\n"); }

  static std::string Limits(const std::string& address_space) {
    return "Limit                     Soft Limit           Hard Limit           Units     \n"
           "Max address space         " +
           address_space + "           unlimited            bytes     \n";
  }
  void Write(const std::string& pid, const std::string& address_space, Bytes kibibytes,
             int mappings) const {
    root_.Write("proc/" + pid + "/limits", Limits(address_space));
    root_.Write("proc/" + pid + "/status",
                "VmPeak: " + std::to_string(kibibytes) + " kB\nThreads: 3\n");
    std::string maps;
    for (int i = 0; i < mappings; ++i) maps += "1000-2000 rw-p 00000000 00:00 0\n";
    root_.Write("proc/" + pid + "/maps", maps);
  }
  doctor::Death Told() const {
    doctor::Death death;
    witness_.Tell(death);
    return death;
  }

  platform::TestingDirectory root_;
  StepWitness witness_;
};

TEST_F(StepWitnessTest, TellsNothingThatNobodyHasSeen) {
  witness_.Look(std::array{pid_t{7}}, root_.path());
  const auto death = Told();
  EXPECT_FALSE(death.limits);
  EXPECT_FALSE(death.maps);
  EXPECT_EQ(death.use, platform::ProcessUse{});
}

TEST_F(StepWitnessTest, TellsOfTheProcessThatWasNearestToItsLimit) {
  Write("7", "unlimited", 5'000'000, 9);
  Write("8", "1073741824", 1'000'000, 11);
  witness_.Look(std::array{pid_t{7}, pid_t{8}}, root_.path());
  Write("8", "1073741824", 10, 4);
  witness_.Look(std::array{pid_t{7}, pid_t{8}}, root_.path());
  const auto death = Told();
  ASSERT_TRUE(death.limits);
  EXPECT_EQ(death.limits->address_space.soft, kGiB);
  EXPECT_EQ(death.use.address_peak, 1'000'000 * kKiB) << "not of the one that has no limit";
  EXPECT_EQ(death.use.threads, 3u);
  EXPECT_EQ(death.maps, 11u);
}

TEST_F(StepWitnessTest, CountsMappingsAtTheFirstLookAndEachTenth) {
  Write("7", "unlimited", 10, 10);
  witness_.Look(std::array{pid_t{7}}, root_.path());
  Write("7", "unlimited", 10, 90);
  for (int look = 2; look <= 10; ++look) witness_.Look(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().maps, 10u);
  witness_.Look(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().maps, 90u);
}

TEST_F(StepWitnessTest, TheLimitsOfTheDeadAreTakenWithThoseOfTheLiving) {
  witness_.TakeLimits(Limits("2048"));
  EXPECT_EQ(Told().limits->address_space.soft, 2048u);
  Write("7", "1024", 1, 1);
  witness_.Look(std::array{pid_t{7}}, root_.path());
  EXPECT_EQ(Told().limits->address_space.soft, 1024u);
  witness_.TakeLimits(Limits("4096"));
  EXPECT_EQ(Told().limits->address_space.soft, 1024u) << "the tightest of all";
}

}  // namespace
}  // namespace reveza::runner
