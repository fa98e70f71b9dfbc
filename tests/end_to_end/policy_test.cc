// Programs with weights, priorities, requests, limits, and pauses by hand.
#include <gtest/gtest.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "common/base/bytes.h"
#include "tests/support/machine.h"

namespace reveza::testing {
namespace policy_test {

using nlohmann::json;
using std::chrono::seconds;

class PolicyTest : public ::testing::Test {
 protected:
  static Machine::Options Slices(const char* floor, const char* ceiling) {
    Machine::Options options;
    options.daemon_arguments = {"--slice-floor", floor, "--slice-ceiling", ceiling};
    return options;
  }

  static std::vector<std::string> Work(const char* bytes, int steps, int step_ms = 20) {
    return {
        "--bytes", bytes, "--steps", std::to_string(steps), "--step-ms", std::to_string(step_ms),
        "--json"};
  }

  // Starts a program of this name with this value of REVEZA_POLICY.
  Process Start(const char* name, const std::vector<std::string>& arguments,
                const char* policy = "", const char* program = "worker") {
    return machine_->Start(program, arguments, {{"REVEZA_NAME", name}, {"REVEZA_POLICY", policy}});
  }

  // Runs `reveza` with these arguments.
  ProcessResult Reveza(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), REVEZA_PROGRAM);
    Process process(arguments, {{"REVEZA_SOCKET", machine_->socket()}},
                    machine_->folder() + "/reveza");
    return process.Wait().value_or(ProcessResult{});
  }

  static std::string UserName() {
    const passwd* const user = getpwuid(getuid());
    return user != nullptr ? user->pw_name : std::to_string(getuid());
  }

  static json Named(const json& status, const std::string& name) {
    for (const auto& client : status.value("clients", json::array())) {
      if (client.value("name", "") == name) return client;
    }
    return nullptr;
  }

  bool Await(const std::string& name, const std::function<bool(const json&)>& condition) {
    return machine_->WaitFor([&](const json& status) {
      const json client = Named(status, name);
      return client.is_object() && condition(client);
    });
  }
  bool AwaitState(const std::string& name, const std::string& state) {
    return Await(name, [&](const json& client) { return client.at("state") == state; });
  }

  static void ExpectHash(Process& process, const ProcessResult& alone) {
    const auto ended = process.Wait();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status, 0) << ended->error_output;
    EXPECT_EQ(ended->Field("hash"), alone.Field("hash"));
  }

  std::unique_ptr<Machine> machine_;
};

TEST_F(PolicyTest, APausedProgramHoldsNoMemoryThatCanMove) {
  machine_ = std::make_unique<Machine>();
  const auto work = Work("150MiB", 60);
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process process = Start("train", work);
  ASSERT_TRUE(AwaitState("train", "running"));
  const ProcessResult paused = Reveza({"pause", "train"});
  EXPECT_EQ(paused.status, 0) << paused.error_output;
  ASSERT_TRUE(Await("train", [](const json& client) {
    return client.at("state") == "paused" && client.at("footprint").at("resident") == 0;
  }));
  // Only its context is left, as the GPU counts.
  EXPECT_LT(machine_->GpuBytesInUse(), 16 * kMiB);
  std::this_thread::sleep_for(seconds(1));
  const json before = Named(machine_->Status(), "train");
  EXPECT_EQ(before.at("state"), "paused");
  EXPECT_EQ(Reveza({"resume", "train"}).status, 0);
  ExpectHash(process, alone);
}

TEST_F(PolicyTest, APauseOutlivesTheDaemon) {
  machine_ = std::make_unique<Machine>();
  const auto work = Work("100MiB", 60);
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process process = Start("train", work);
  ASSERT_TRUE(AwaitState("train", "running"));
  ASSERT_EQ(Reveza({"pause", "train"}).status, 0);
  ASSERT_TRUE(AwaitState("train", "paused"));
  machine_->daemon().Signal(SIGKILL);
  machine_->daemon().Wait();
  machine_->StartDaemon();
  EXPECT_TRUE(AwaitState("train", "paused"));
  EXPECT_EQ(Reveza({"resume", "train"}).status, 0);
  ExpectHash(process, alone);
}

TEST_F(PolicyTest, WeightsDivideTheTime) {
  machine_ = std::make_unique<Machine>(Slices("100ms", "200ms"));
  const auto work = Work("180MiB", 100);
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process light = Start("light", work);
  Process heavy = Start("heavy", work, "weight=400");
  double light_ran = 0;
  double heavy_ran = 0;
  while (heavy.Running()) {
    const json status = machine_->Status();
    const json one = Named(status, "light");
    const json other = Named(status, "heavy");
    if (one.is_object() && other.is_object()) {
      light_ran = one.at("ran_s");
      heavy_ran = other.at("ran_s");
      EXPECT_EQ(other.at("policy").at("weight"), 4.0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  // Four times as much; the first has run alone at the beginning.
  EXPECT_GT(heavy_ran, 1.5 * light_ran);
  ExpectHash(heavy, alone);
  ExpectHash(light, alone);
}

TEST_F(PolicyTest, ClassesDecideForProgramsThatSayNothing) {
  machine_ = std::make_unique<Machine>();
  const std::string config = machine_->folder() + "/config.toml";
  std::ofstream(config) << "[[class]]\nname = \"night\"\ncommand = \"*--steps 77*\"\nuser = \""
                        << UserName() << "\"\nweight = 3\n";
  machine_->StartDaemon(config);
  const auto work = Work("60MiB", 77);
  const ProcessResult alone = machine_->RunNative("worker", work);
  Process night = Start("a", work);
  Process other = Start("b", Work("60MiB", 78));
  EXPECT_TRUE(Await("a", [](const json& client) {
    return client.at("policy").at("class") == "night" && client.at("policy").at("weight") == 3.0;
  }));
  EXPECT_TRUE(
      Await("b", [](const json& client) { return client.at("policy").at("class").is_null(); }));
  ExpectHash(night, alone);
  other.Wait();
}

// Slices are far longer than the test, so it enters only because it may preempt.
TEST_F(PolicyTest, AnInteractiveProgramNeedNotWaitForSlices) {
  machine_ = std::make_unique<Machine>(Slices("60s", "120s"));
  std::vector<std::string> naps = Work("100MiB", 20, 1);
  naps.insert(naps.end(), {"--pause-ms", "500"});
  const auto work = Work("180MiB", 400);
  const ProcessResult nap_alone = machine_->RunNative("idle", naps);
  const ProcessResult work_alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process train = Start("train", work);
  ASSERT_TRUE(AwaitState("train", "running"));
  Process notebook = Start("notebook", naps, "interactive=1", "idle");
  ExpectHash(notebook, nap_alone);
  EXPECT_TRUE(train.Running());
  ExpectHash(train, work_alone);
}

TEST_F(PolicyTest, ALimitIsASmallerCard) {
  machine_ = std::make_unique<Machine>();
  machine_->StartDaemon();
  Process small = Start("small", Work("150MiB", 5), "request=0,limit=104857600");
  const auto ended = small.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_NE(ended->status, 0);
  EXPECT_NE(ended->error_output.find("OUT_OF_MEMORY"), std::string::npos) << ended->error_output;
  const auto work = Work("60MiB", 5);
  const ProcessResult alone = machine_->RunNative("worker", work);
  Process fits = Start("fits", work, "request=0,limit=104857600");
  ExpectHash(fits, alone);
}

TEST_F(PolicyTest, ARequestThatCannotBeKeptIsRefusedAtTheDoor) {
  machine_ = std::make_unique<Machine>();
  const auto work = Work("60MiB", 100);
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process first = Start("first", work, "request=200000000");
  ASSERT_TRUE(AwaitState("first", "running"));
  Process second = Start("second", Work("60MiB", 5), "request=100000000");
  const auto ended = second.Wait();
  ASSERT_TRUE(ended.has_value());
  EXPECT_NE(ended->status, 0);
  EXPECT_NE(ended->error_output.find("cannot be promised"), std::string::npos)
      << ended->error_output;
  if (!Preload().empty()) {  // `reveza run` needs the library.
    const ProcessResult ran = Reveza({"run", "--memory", "100MiB", "--", "true"});
    EXPECT_EQ(ran.status, 4) << ran.error_output;
    EXPECT_NE(ran.error_output.find("cannot be promised"), std::string::npos) << ran.error_output;
  }
  const ProcessResult changed = Reveza({"set", "first", "--memory", "1GiB"});
  EXPECT_EQ(changed.status, 4) << changed.error_output;
  ExpectHash(first, alone);
}

TEST_F(PolicyTest, UsageOutlivesTheDaemon) {
  machine_ = std::make_unique<Machine>();
  const auto usage = [&] {
    return json::parse(
        Reveza({"usage", "--file", machine_->folder() + "/usage.db", "--json"}).output, nullptr,
        /*allow_exceptions=*/false);
  };
  const ProcessResult none = Reveza({"usage", "--file", machine_->folder() + "/usage.db"});
  EXPECT_EQ(none.status, 17) << none.error_output;
  machine_->StartDaemon();
  const auto work = Work("180MiB", 20);
  Process one = Start("one", work);
  Process other = Start("other", work);
  ASSERT_TRUE(one.Wait().has_value() && other.Wait().has_value());
  machine_->daemon().Signal(SIGTERM);
  machine_->daemon().Wait();
  const json both = usage();
  ASSERT_EQ(both.size(), 2u) << both;
  double waited = 0;
  for (const json& job : both) {
    EXPECT_GT(job.at("gpu_s"), 0.3) << job;
    EXPECT_GE(job.at("turns"), 1) << job;
    waited += job.at("wait_turn_s").get<double>() + job.at("wait_handover_s").get<double>();
  }
  EXPECT_GT(waited, 0.1) << both;
  machine_->StartDaemon();
  Process again = Start("again", Work("60MiB", 5));
  ASSERT_TRUE(again.Wait().has_value());
  machine_->daemon().Signal(SIGTERM);
  machine_->daemon().Wait();
  EXPECT_EQ(usage().size(), 3u);
}

TEST_F(PolicyTest, MemoryThatIsPromisedStaysOnTheGpu) {
  machine_ = std::make_unique<Machine>(Slices("100ms", "200ms"));
  const auto work = Work("100MiB", 40);
  const ProcessResult alone = machine_->RunNative("worker", work);
  machine_->StartDaemon();
  Process kept = Start("kept", work, "request=134217728");
  ASSERT_TRUE(AwaitState("kept", "running"));
  const auto less = Work("70MiB", 60);
  const ProcessResult less_alone = machine_->RunNative("worker", less);
  Process one = Start("one", less);
  Process other = Start("other", less);
  Bytes out = 0;
  while (kept.Running()) {
    const json client = Named(machine_->Status(), "kept");
    if (client.is_object()) out = client.at("copied_out");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(out, 0u);
  ExpectHash(kept, alone);
  ExpectHash(one, less_alone);
  ExpectHash(other, less_alone);
}

}  // namespace policy_test
}  // namespace reveza::testing
