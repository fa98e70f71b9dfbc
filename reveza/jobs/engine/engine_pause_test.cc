// Pausing a job.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "reveza/jobs/engine/testing_engine.h"

namespace reveza::jobs {
namespace engine_pause_test {

using namespace std::chrono_literals;

class PauseTest : public EngineTest {
 protected:
  // Steps 1 and 2 run until the file "go-1" or "go-2" exists; step 3 ends at once. Step 2 claims to
  // run under `reveza run`.
  Job OneOnAGpu() {
    Job job = Shell("while [ {n} != 3 ] && [ ! -e go-{n} ]; do sleep 0.01; done", 3);
    job.commands.push_back(job.commands[0]);
    job.commands[1].arguments[0].insert(0, ": reveza run; ");
    job.steps[1].command = 1;
    return job;
  }

  static nlohmann::json Ask(const char* request) {
    return QueryRunner("test", {{"request", request}}).value_or(nlohmann::json::object());
  }

  // Returns the states of running steps by label.
  static std::map<std::string, std::string> States(const nlohmann::json& status) {
    std::map<std::string, std::string> states;
    for (const auto& one : status["running"]) states[one["label"]] = one["state"];
    return states;
  }

  static std::string Proc(int pid, const std::string& file) {
    std::ifstream stream("/proc/" + std::to_string(pid) + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static bool IsStopped(int pid) {
    const std::string text = Proc(pid, "stat");
    const auto name_end = text.rfind(") ");
    return name_end != std::string::npos && text.substr(name_end + 2, 1) == "T";
  }
  // Returns whether the shell of a step is stopped. Its supervisor stops it some time after the
  // runner reports the pause; one that has just called vfork is suspended, but not stopped.
  static bool StandsStill(const nlohmann::json& status, const char* label) {
    for (const auto& one : status["running"]) {
      if (one["label"] != label || !one["pid"].is_number()) continue;
      const int pid = one["pid"];
      const std::string children = Proc(pid, "task/" + std::to_string(pid) + "/children");
      return IsStopped(pid) || (!children.empty() && IsStopped(std::stoi(children)));
    }
    return false;
  }

  // Polls the status until `holds` is true.
  static bool Await(const std::function<bool(const nlohmann::json&)>& holds) {
    for (int i = 0; i < 3000; ++i) {
      const auto status = Ask("status");
      if (status.contains("steps") && holds(status)) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
};

using StatesOf = std::map<std::string, std::string>;

TEST_F(PauseTest, PauseStopsCpuStepsOnly) {
  std::thread asker([&] {
    EXPECT_TRUE(Await([](const auto& status) { return status["steps"]["running"] == 2; }));
    const auto answer = Ask("pause");
    EXPECT_EQ(answer.value("on_gpu", 0), 1);
    EXPECT_EQ(answer.value("note", ""), "the job is paused; a step on a GPU runs to its end");
    auto status = Ask("status");
    EXPECT_EQ(States(status), (StatesOf{{"n=1", "paused"}, {"n=2", "running"}}));
    EXPECT_EQ(status["waiting"], answer["note"]);
    EXPECT_TRUE(Await([](const auto& now) { return StandsStill(now, "n=1"); }));
    std::ofstream(folder_ / "go-1");
    std::ofstream(folder_ / "go-2");
    EXPECT_TRUE(Await([](const auto& now) { return now["steps"]["done"] >= 1; }));
    status = Ask("status");
    EXPECT_EQ(States(status), (StatesOf{{"n=1", "paused"}})) << "nothing new starts";
    EXPECT_EQ(status["waiting"], "the job is paused");
    // The sampling once a second resumes nothing.
    for (const auto end = clock_.Now() + 2500ms; clock_.Now() < end;) {
      std::this_thread::sleep_for(10ms);
      EXPECT_EQ(States(Ask("status")), (StatesOf{{"n=1", "paused"}}));
    }
    EXPECT_EQ(Ask("resume"), nlohmann::json({{"ok", true}}));
  });
  Hurry();
  const auto summary = Run(OneOnAGpu(), Workers(2));
  asker.join();
  EXPECT_EQ(summary.end, Engine::RunEnd::kDone);
  EXPECT_EQ(summary.counts.done, 3u);
  EXPECT_EQ(listener_.repeats, 0);
}

}  // namespace engine_pause_test
}  // namespace reveza::jobs
