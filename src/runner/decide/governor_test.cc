#include "runner/decide/governor.h"

#include <gtest/gtest.h>

#include "platform/process_table.h"
#include "platform/testing_directory.h"

namespace reveza::runner {
namespace {

Job OneCommand() {
  Job job;
  Command command;
  command.arguments = {"./simulate", "{n}"};
  job.commands.push_back(command);
  for (int n = 0; n < 10; ++n) job.steps.push_back({0, {{"n", std::to_string(n)}}, {}});
  return job;
}

AttemptResult Ended(Outcome outcome) {
  AttemptResult result;
  result.outcome = outcome;
  result.ended = 1'000'000'000;
  return result;
}

TEST(GovernorTest, AFixedNumberOfWorkersIsNotTuned) {
  const Job job = OneCommand();
  RunRequest request;
  request.workers = 3;
  const Governor governor(job, request, 2);
  EXPECT_EQ(governor.Workers(), 3u);
  EXPECT_FALSE(governor.tunes());
}

TEST(GovernorTest, ItBeginsWithHalfOfTheCoresAndMayTryTwoForEach) {
  const Job job = OneCommand();
  EXPECT_EQ(Governor(job, {}, 4).Workers(), 2u);
  EXPECT_EQ(Governor(job, {}, 4).most(), 8u);
  RunRequest request;
  request.max_workers = 5;
  EXPECT_EQ(Governor(job, request, 4).most(), 5u);
}

TEST(GovernorTest, WhatWasLearnedOutlivesTheRun) {
  const Job job = OneCommand();
  Governor first(job, {}, 2);
  first.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kSuccess), {}, {.memory = 1ULL << 30});
  Governor second(job, {}, 2);
  second.Restore(first.Learned());
  const Need need = second.NeedOf(5, {});
  EXPECT_EQ(need.memory_by, KnownBy::kLearned);
  EXPECT_GE(need.memory, 1ULL << 30);
}

Job OneOnTheGpu(std::optional<Bytes> gpu_memory = kGiB) {
  Job job = OneCommand();
  job.commands[0].claim.gpu_memory = gpu_memory;
  return job;
}

// A card of 4 GiB, of which process 77 has one.
std::unique_ptr<platform::GpuMonitor> Card() {
  auto monitor = std::make_unique<platform::FakeGpuMonitor>();
  monitor->readings.emplace_back();
  monitor->readings[0].total = 4 * kGiB;
  monitor->readings[0].used = kGiB;
  monitor->readings[0].processes = {{77, kGiB}, {78, std::nullopt}};
  return monitor;
}

TEST(GovernorTest, ClaimsOfTheGpuAreLearnedAndKept) {
  const Job job = OneOnTheGpu();
  Governor first(job, {}, 2, {.gpus = Card()});
  const std::uint32_t step = 0;
  first.Next(std::chrono::seconds(1), {&step, 1}, {});
  const pid_t pids[] = {77, 78, 79};
  EXPECT_EQ(first.GpuMemoryOfProcesses(pids), kGiB);
  EXPECT_EQ(first.GpuMemoryOfProcesses({pids + 1, 2}), std::nullopt);
  // What was declared is too little, as it turned out.
  AttemptResult died = Ended(Outcome::kMemory);
  Need need;
  need.gpu_memory = kGiB;
  const unsigned before = first.Workers(Lane::kGpu);
  first.Ended(std::chrono::seconds(1), 0, died, need,
              {.gpu_memory = 2 * kGiB, .no_gpu_memory = true});
  EXPECT_LT(first.Workers(Lane::kGpu), before);
  EXPECT_NE(first.tuner(Lane::kGpu).log().back().sentence.find("refused memory of the GPU"),
            std::string::npos);
  EXPECT_EQ(first.NeedOf(1, {}).gpu_memory, 3 * kGiB);
  EXPECT_EQ(first.NeedOf(1, {}).memory_by, KnownBy::kGuess);  // it did not die of that
  Governor second(job, {}, 2, {.gpus = Card()});
  second.Restore(first.Learned());
  EXPECT_EQ(second.NeedOf(1, {}).gpu_memory, 3 * kGiB);
}

TEST(GovernorTest, OnASharedGpuWhatFitsAloneMayStart) {
  const Job job = OneOnTheGpu(3 * kGiB);
  const std::uint32_t step = 1;
  Admitted other;
  other.need.gpu_memory = 3 * kGiB;
  other.gpu = platform::Uuid{};
  Governor alone(job, {}, 2, {.gpus = Card()});
  EXPECT_FALSE(alone.Next(std::chrono::seconds(1), {&step, 1}, {&other, 1}).index);
  Governor shared(job, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  EXPECT_TRUE(shared.Next(std::chrono::seconds(1), {&step, 1}, {&other, 1}).index);
  const Job large = OneOnTheGpu(5 * kGiB);
  Governor never(large, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  EXPECT_EQ(never.Next(std::chrono::seconds(1), {&step, 1}, {}).verdict.kind,
            Verdict::Kind::kNever);
}

// A larger claim keeps nobody away from a card that all take turns on.
TEST(GovernorTest, WhoIsRefusedMemoryOfASharedGpuHasItAloneTheNextTime) {
  const Job job = OneOnTheGpu(kGiB);
  Governor governor(job, {}, 2, {.gpus = Card(), .gpu_is_shared = true});
  governor.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), governor.NeedOf(0, {}),
                 {.no_gpu_memory = true});
  EXPECT_TRUE(governor.NeedOf(0, {}).gpu_alone);
  EXPECT_FALSE(governor.NeedOf(1, {}).gpu_alone);
  Governor unshared(job, {}, 2, {.gpus = Card()});
  unshared.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), unshared.NeedOf(0, {}),
                 {.no_gpu_memory = true});
  EXPECT_FALSE(unshared.NeedOf(0, {}).gpu_alone);
}

TEST(GovernorTest, TheBooksOfADaemonDecideWhatIsFreeOnAGpu) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  std::optional<GpuBooks> books;
  Governor governor(job, {}, 2, {.gpus = Card(), .books = [&] { return books; }});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_TRUE(choice().index) << "three of four are free, as NVML says";
  books.emplace();
  books->gpus.push_back({platform::Uuid{}, 3 * kGiB, 2 * kGiB});
  const auto waits = choice();
  EXPECT_FALSE(waits.index);
  EXPECT_NE(waits.verdict.reason.find("1 GiB are free"), std::string::npos) << waits.verdict.reason;
  books->gpus[0].total = kGiB;
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kNever) << "no more is ever given";
  const pid_t pids[] = {77, 5};
  EXPECT_EQ(governor.GpuMemoryOfProcesses(pids), kGiB);
  books->clients = {{77, 3 * kGiB}};
  choice();
  EXPECT_EQ(governor.GpuMemoryOfProcesses(pids), 3 * kGiB) << "with what was moved out";
  books.reset();
  EXPECT_TRUE(choice().index) << "the daemon has ended";
}

TEST(GovernorTest, WhatCannotBeReadNowIsWaitedFor) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  auto cards = std::make_unique<platform::FakeGpuMonitor>();
  platform::FakeGpuMonitor& nvml = *cards;
  platform::GpuReading large;
  large.total = 4 * kGiB;
  large.used = 0;
  nvml.readings.resize(2);
  nvml.readings[1].total = kGiB;
  nvml.readings[1].used = 0;
  Governor governor(job, {}, 2, {.gpus = std::move(cards)});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kWait) << "the large one says nothing now";
  nvml.broken = true;
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kWait);
  nvml.broken = false;
  nvml.readings[0] = large;
  EXPECT_TRUE(choice().index);
  nvml.readings.erase(nvml.readings.begin());
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kNever) << "all are known, and all too small";
}

TEST(GovernorTest, OnlyTheGpusThatTheUserNamesAreLookedAt) {
  const Job job = OneOnTheGpu(2 * kGiB);
  const std::uint32_t step = 1;
  auto cards = std::make_unique<platform::FakeGpuMonitor>();
  for (std::uint8_t i = 0; i < 2; ++i) {
    platform::GpuReading card;
    card.uuid.fill(i);
    card.total = 4 * kGiB;
    card.used = i == 0 ? 3 * kGiB : 0;
    cards->readings.push_back(card);
  }
  const auto uuids = std::pair(cards->readings[0].uuid, cards->readings[1].uuid);
  std::optional<DeviceNames> names;
  Governor governor(job, {}, 2,
                    {.gpus = std::move(cards), .devices = [&](std::uint32_t) { return names; }});
  int second = 0;
  const auto choice = [&] { return governor.Next(std::chrono::seconds(++second), {&step, 1}, {}); };
  EXPECT_EQ(choice().verdict.gpu, uuids.second) << "the emptier one";
  names = {"1", ""};
  EXPECT_EQ(choice().verdict.gpu, uuids.second);
  names = {"0", ""};
  EXPECT_FALSE(choice().index) << "the other is free, and the step would not see it";
  names = {"", ""};
  EXPECT_EQ(choice().verdict.kind, Verdict::Kind::kNever);
  EXPECT_TRUE(governor.TakeDoubts().empty());
  names = {"MIG-1", ""};
  EXPECT_TRUE(choice().index);
  EXPECT_EQ(governor.TakeDoubts().size(), 1u);
  EXPECT_TRUE(choice().index);
  EXPECT_TRUE(governor.TakeDoubts().empty()) << "said once";
}

TEST(GovernorTest, OthersTakeTheirCores) {
  const platform::TestingDirectory root;
  Job job = OneCommand();
  job.commands[0].claim = {.cpus = 1, .memory = 1, .gpu_memory = {}};
  Governor governor(job, {}, 2, {.root = root.path()});
  const std::uint32_t step = 1;
  Admitted other;
  other.need.cpus = 1;
  const auto look = [&](int second, std::uint64_t busy_seconds) {
    const auto ticks = std::to_string(busy_seconds * platform::TicksPerSecond());
    root.Write("proc/stat", "cpu " + ticks + " 0 0 0 0\ncpu0 1 0 0 0 0\ncpu1 1 0 0 0 0\n");
    governor.SeenCpu(std::chrono::seconds(second), {});
  };
  const auto choice = [&](int second) {
    return governor.Next(std::chrono::seconds(second), {&step, 1}, {&other, 1});
  };
  EXPECT_TRUE(choice(1).index);
  look(2, 10);
  look(3, 11);  // a whole core, and none of it ours
  const auto waits = choice(4);
  EXPECT_FALSE(waits.index);
  EXPECT_NE(waits.verdict.reason.find("1 by others"), std::string::npos) << waits.verdict.reason;
}

TEST(GovernorTest, NonsenseTeachesNothing) {
  const Job job = OneCommand();
  for (const char* text : {"", "nonsense", "[1, null, {\"shape\": \"x\", \"memory\": -1}]", "{}"}) {
    Governor governor(job, {}, 2);
    governor.Restore(text);
    EXPECT_EQ(governor.NeedOf(0, {}).memory_by, KnownBy::kGuess) << text;
  }
}

TEST(GovernorTest, ADeathForMemoryAsksForMoreNextTime) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  Need need;
  need.memory = 1ULL << 30;
  governor.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), need, {.memory = 1ULL << 30});
  EXPECT_GE(governor.NeedOf(1, {}).memory, (3ULL << 30) / 2);
}

TEST(GovernorTest, AClaimThatWasTooSmallSaysNothingOfTheNumberOfWorkers) {
  const Job job = OneCommand();
  Governor governor(job, {}, 8);
  const unsigned workers = governor.Workers();
  ASSERT_GT(workers, 1u);
  Need need;
  need.memory = kGiB;
  Governor::Peaks peaks{.memory = kGiB, .at_own_limit = true};
  governor.Ended(std::chrono::seconds(1), 0, Ended(Outcome::kMemory), need, peaks);
  EXPECT_EQ(governor.Workers(), workers);
  EXPECT_GE(governor.NeedOf(1, {}).memory, kGiB + kGiB / 2) << "it is learned all the same";
  peaks.at_own_limit = false;
  governor.Ended(std::chrono::seconds(2), 0, Ended(Outcome::kMemory), need, peaks);
  EXPECT_LT(governor.Workers(), workers);
}

TEST(GovernorTest, CyclesThatGrowLongerAreSaid) {
  const Job job = OneCommand();
  Governor governor(job, {}, 2);
  for (int i = 1; i <= 60; ++i) {
    governor.CycleEnded(static_cast<std::uint64_t>(i), std::chrono::milliseconds(400 + 60 * i));
  }
  const auto drift = governor.Drift();
  ASSERT_TRUE(drift);
  EXPECT_NEAR(*drift, 0.06, 0.005);
  const auto remaining = governor.RemainingCycles(10);
  ASSERT_TRUE(remaining);
  EXPECT_GT(remaining->p50, std::chrono::seconds(30));
}

}  // namespace
}  // namespace reveza::runner
