// Power cuts while a job runs: a step that the journal lists as done has its outputs, or runs
// again; with --durable no committed result is lost.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>

#include "common/platform/testing_descriptors.h"
#include "common/platform/testing_directory.h"
#include "reveza/jobs/engine/engine.h"
#include "reveza/jobs/engine/open_job.h"
#include "reveza/jobs/engine/testing_listener.h"
#include "reveza/jobs/engine/testing_machine.h"
#include "reveza/jobs/journal/journal.h"
#include "reveza/jobs/journal/verify_outputs.h"

namespace reveza::jobs {
namespace power_cut_test {

namespace fs = std::filesystem;
using reveza::testing::CutPower;
using reveza::testing::Survives;

constexpr int kSteps = 24;

class PowerCutTest : public ::testing::Test {
 protected:
  PowerCutTest() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~PowerCutTest() override { reveza::testing::OnSynchronised(nullptr); }

  // Steps that log their run and print several disk blocks. With `last_waits_` the last one waits
  // for the file "go".
  Job TheJob() const {
    Job job;
    job.name = "test";
    Command command;
    const std::string wait = last_waits_ ? "while [ {n} = " + std::to_string(kSteps) +
                                               " ] && [ ! -e go ]; do sleep 0.01; done; "
                                         : "";
    command.arguments = {
        wait + "echo {n} >> ran; for i in 1 2 3 4 5 6 7 8; do printf '%0200d\n' {n}; done"};
    command.shell = true;
    command.folder = folder_.path();
    job.commands.push_back(command);
    for (int n = 1; n <= kSteps; ++n)
      job.steps.emplace_back().parameters = {{"n", std::to_string(n)}};
    return job;
  }
  static std::string OutputOf(int number) {
    std::string line = std::to_string(number);
    line.insert(0, 200 - line.size(), '0');
    std::string text;
    for (int i = 0; i < 8; ++i) text += line + "\n";
    return text;
  }
  static std::string Text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::multiset<std::string> Ran() const {
    std::multiset<std::string> ran;
    std::ifstream file(folder_ / "ran");
    for (std::string line; std::getline(file, line);) ran.insert(line);
    return ran;
  }

  Engine::Summary Run(const fs::path& state, bool durable) {
    Job job = TheJob();
    auto expander = Expander::Make(job);
    RunRequest request;
    request.workers = 2;
    request.durable = durable;
    auto opened = OpenJob(state, job, *expander, request, REVEZA_SUPERVISOR);
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return {};
    Engine engine(std::move(opened->parts), listener_);
    auto summary = engine.Run();
    EXPECT_TRUE(summary) << summary.error().message;
    return summary.value_or(Engine::Summary{});
  }

  // Opens the job as after a reboot. Returns how many steps are done.
  std::set<std::string> Boot(const fs::path& state) {
    const auto folder = JobFolder::Create(state, "test");
    auto journal = Journal::Open(folder->journal());
    if (!journal) {
      EXPECT_EQ(journal.error().code, Error::Code::kIncompatible) << journal.error().message;
      auto rebuilt = RebuildJournal(*folder);
      EXPECT_TRUE(rebuilt) << rebuilt.error().message;
      journal = std::move(rebuilt->journal);
    }
    const auto imported = ImportRecords(*folder, *journal, Supervisors::kOrphans);
    EXPECT_TRUE(imported) << imported.error().message;
    BootId other{};
    other[0] = 1;
    const auto verified = VerifyOutputs(*journal, folder->outputs(), other);
    EXPECT_TRUE(verified) << verified.error().message;
    EXPECT_TRUE(journal->Commit());
    std::set<std::string> done;
    const auto list = journal->List();
    EXPECT_TRUE(list) << list.error().message;
    for (const auto& step : list.value_or(std::vector<StepEntry>{})) {
      if (step.state != StepState::kDone) continue;
      const std::string number = step.label.substr(2);
      done.insert(number);
      EXPECT_EQ(Text(folder->outputs() / (step.files + ".out")), OutputOf(std::stoi(number)))
          << "step " << number << " is done, and its output is not what it was";
    }
    return done;
  }

  platform::TestingDirectory folder_;
  reveza::testing::TestingListener listener_;
  bool last_waits_ = false;
};

TEST_F(PowerCutTest, DurableCommitsSurvivePowerCuts) {
  std::mt19937 random(5);
  for (const auto durability : {Journal::Durability::kPower, Journal::Durability::kProcess}) {
    const auto name = durability == Journal::Durability::kPower ? "power" : "process";
    const auto folder = JobFolder::Create(folder_ / name, "test");
    auto journal = Journal::Open(folder->journal(), durability);
    ASSERT_TRUE(journal);
    std::vector<ListedStep> steps;
    for (std::uint8_t i = 1; i <= 8; ++i) {
      Identity identity{};
      identity.fill(i);
      steps.push_back({identity, "n"});
    }
    ASSERT_TRUE(journal->SetList(steps));
    ASSERT_TRUE(journal->Checkpoint());
    for (std::uint8_t i = 1; i <= 8; ++i) {
      AttemptResult result;
      result.name = {steps[i - 1u].identity, 1};
      result.outcome = Outcome::kSuccess;
      ASSERT_TRUE(journal->RecordAttempt(result, {}));
      ASSERT_TRUE(journal->Commit());
      for (const auto survives : {Survives::kNothing, Survives::kSome}) {
        const fs::path after = folder_ / "after";
        CutPower(folder_ / name, after, survives, random);
        auto found = Journal::Open(after / "jobs/test/journal.db", durability);
        ASSERT_TRUE(found) << found.error().message;
        const auto list = found->List();
        ASSERT_TRUE(list) << list.error().message;
        ASSERT_EQ(list->size(), 8u) << "the list was written back to the disk";
        const auto done = std::ranges::count(*list, StepState::kDone, &StepEntry::state);
        if (durability == Journal::Durability::kPower) {
          EXPECT_EQ(done, i);
        } else if (survives == Survives::kNothing) {
          EXPECT_EQ(done, 0) << "nothing was synced: the test is ineffective";
        }
        for (std::size_t step = 0; step < list->size(); ++step) {
          EXPECT_EQ((*list)[step].state == StepState::kDone, static_cast<int>(step) < done);
        }
        fs::remove_all(after);
      }
    }
  }
}

class PowerCutJobTest : public PowerCutTest, public ::testing::WithParamInterface<Survives> {};

// Cuts the power at the end of each step and continues every resulting state.
TEST_P(PowerCutJobTest, DoneStepsHaveOutputs) {
  std::mt19937 random(6);
  int cuts = 0;
  listener_.on_end = [&] {
    CutPower(folder_ / "state", folder_ / ("cut-" + std::to_string(++cuts)), GetParam(), random);
  };
  EXPECT_EQ(Run(folder_ / "state", false).end, Engine::RunEnd::kDone);
  listener_.on_end = nullptr;
  ASSERT_EQ(cuts, kSteps);
  for (int cut = 1; cut <= cuts; cut += 3) {
    SCOPED_TRACE("after " + std::to_string(cut) + " steps");
    const auto state = folder_ / ("cut-" + std::to_string(cut));
    const auto done = Boot(state);
    fs::remove(folder_ / "ran");
    EXPECT_EQ(Run(state, false).counts.done, static_cast<std::uint64_t>(kSteps));
    const auto ran = Ran();
    for (int n = 1; n <= kSteps; ++n) {
      const std::string number = std::to_string(n);
      EXPECT_EQ(ran.count(number), done.contains(number) ? 0u : 1u) << "step " << number;
    }
    EXPECT_EQ(Boot(state).size(), static_cast<std::size_t>(kSteps));
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheRest, PowerCutJobTest,
                         ::testing::Values(Survives::kNothing, Survives::kSome));

TEST_F(PowerCutTest, DurableLosesNothingCommitted) {
  std::mt19937 random(7);
  // Once the log reaches the disk, so has every result received by then. The last step ends later
  // in any case.
  last_waits_ = true;
  std::size_t committed = 0;
  reveza::testing::OnSynchronised([&](const std::string& path) {
    if (!path.ends_with("journal.db-wal")) return;
    committed = listener_.ended.size();
    if (committed > 0) std::ofstream(folder_ / "go");
  });
  int cuts = 0;
  std::vector<std::size_t> sure;
  listener_.on_end = [&] {
    const fs::path to = folder_ / ("cut-" + std::to_string(++cuts));
    CutPower(folder_ / "state", to, Survives::kNothing, random);
    sure.push_back(committed);
  };
  EXPECT_EQ(Run(folder_ / "state", true).end, Engine::RunEnd::kDone);
  listener_.on_end = nullptr;
  const auto heard = listener_.ended;
  ASSERT_EQ(heard.size(), static_cast<std::size_t>(kSteps));
  EXPECT_GT(sure.back(), 0u);
  for (int cut = 1; cut <= cuts; ++cut) {
    const auto done = Boot(folder_ / ("cut-" + std::to_string(cut)));
    for (std::size_t i = 0; i < sure[static_cast<std::size_t>(cut - 1)]; ++i) {
      EXPECT_TRUE(done.contains(heard[i].label.substr(2))) << heard[i].label;
    }
  }
}

// A disk reports lost writes only once.
TEST_F(PowerCutTest, RefusedSyncIsVerifiedLater) {
  std::mt19937 random(8);
  const fs::path cut = folder_ / "cut";
  reveza::testing::RefuseToSynchronise("/000/7.out");
  EXPECT_EQ(Run(folder_ / "state", true).end, Engine::RunEnd::kDone);
  EXPECT_EQ(std::ranges::count_if(listener_.notes,
                                  [](const std::string& note) {
                                    return note.find("Input/output error") != std::string::npos;
                                  }),
            1);
  CutPower(folder_ / "state", cut, Survives::kNothing, random);
  const auto done = Boot(cut);
  EXPECT_LT(done.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(Run(cut, true).counts.done, static_cast<std::uint64_t>(kSteps));
  EXPECT_EQ(Boot(cut).size(), static_cast<std::size_t>(kSteps));
}

TEST_F(PowerCutTest, UnverifiableOutputsAreKept) {
  EXPECT_EQ(Run(folder_ / "state", false).end, Engine::RunEnd::kDone);
  const auto folder = JobFolder::Create(folder_ / "state", "test");
  auto journal = Journal::Open(folder->journal());
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->Set(kBarrierKey, "0"));
  BootId other{};
  other[0] = 1;
  {
    const platform::NoDescriptors none;
    const auto verified = VerifyOutputs(*journal, folder->outputs(), other);
    ASSERT_FALSE(verified);
    EXPECT_EQ(verified.error().code, Error::Code::kExhausted) << verified.error().message;
    const auto imported = ImportRecords(*folder, *journal, Supervisors::kOrphans);
    ASSERT_FALSE(imported);
    EXPECT_EQ(imported.error().code, Error::Code::kExhausted) << imported.error().message;
    const auto rebuilt = RebuildJournal(*folder);
    ASSERT_FALSE(rebuilt);
    EXPECT_EQ(rebuilt.error().code, Error::Code::kExhausted) << rebuilt.error().message;
    EXPECT_TRUE(fs::exists(folder->journal())) << "nothing was moved";
  }
  const auto verified = VerifyOutputs(*journal, folder->outputs(), other);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(verified->checked, static_cast<std::uint64_t>(kSteps));
  EXPECT_EQ(verified->lost, 0u);
}

}  // namespace power_cut_test
}  // namespace reveza::jobs
