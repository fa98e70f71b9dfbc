// End-to-end tests of `reveza metrics`.
#include "reveza/insight/monitor/metrics.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/unique_fd.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"
#include "reveza/cli/reveza_metrics/families.h"
#include "reveza/insight/monitor/testing_snapshot.h"

namespace reveza::cli {
namespace metrics_test {

using platform::Shell;

std::string ReadAll(int fd, std::string_view until = "") {
  std::string text;
  char letter = 0;
  while (read(fd, &letter, 1) == 1) {
    text += letter;
    if (!until.empty() && text.ends_with(until)) break;
  }
  return text;
}

std::string Get(int port, const std::string& path) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return "";
  }
  const std::string request =
      "GET " + path + " HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return "";
  return ReadAll(fd.get());
}

class Metrics : public testing::Test {
 protected:
  std::string Command(const std::string& arguments) const {
    return fmt::format(
        "env REVEZA_SOCKET={0}/none.sock XDG_RUNTIME_DIR={0} XDG_CONFIG_HOME={0} {1} metrics {2}",
        folder_.path().string(), REVEZA_PROGRAM, arguments);
  }
  platform::TestingDirectory folder_;
};

TEST_F(Metrics, OncePrintsThem) {
  const auto ran = Shell(Command("--once"));
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.output.find("# TYPE reveza_daemon_up gauge\nreveza_daemon_up 0\n"),
            std::string::npos)
      << ran.output;
  EXPECT_NE(ran.output.find("# TYPE reveza_cpu_busy_ratio gauge\nreveza_cpu_busy_ratio "),
            std::string::npos)
      << ran.output;
}

// Returns the path of Prometheus' checker; empty if it is not installed.
std::string Promtool() {
  if (std::filesystem::exists(REVEZA_PROMTOOL)) return REVEZA_PROMTOOL;
  const auto found = Shell("command -v promtool");
  return found.status == 0 ? found.output.substr(0, found.output.find('\n')) : "";
}

TEST_F(Metrics, PassTheChecksOfPrometheus) {
  const std::string promtool = Promtool();
  if (promtool.empty()) GTEST_SKIP() << "no promtool; tools/setup.sh test fetches it";
  monitor::Snapshot snapshot = monitor::TestingSnapshot();
  snapshot.jobs.at(0).use.cpu = 1.5;
  monitor::JobRecord& record = snapshot.records.emplace_back();
  record.id = "nightly";
  record.steps = {3, 1, 0, 1, 1, 0};
  record.attempts = {{"done", 1}, {"failed", 2}};
  record.durations.Add(2.5);
  const auto families = FamiliesOf(snapshot);
  for (const monitor::Metric& metric : monitor::AllMetrics()) {
    EXPECT_NE(std::ranges::find(families, metric.name, &prometheus::MetricFamily::name),
              families.end())
        << metric.name << " is not checked";
  }
  folder_.Write("all.txt", prometheus::TextSerializer().Serialize(families));
  const auto checked =
      Shell(promtool + " check metrics <" + (folder_ / "all.txt").string() + " 2>&1");
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_EQ(checked.output, "");
  const auto live = Shell(Command("--once") + " | " + promtool + " check metrics 2>&1");
  EXPECT_EQ(live, (platform::Ran{0, ""}));
}

// An alert needs more than one scrape to notice a failure.
TEST_F(Metrics, KeepEndedJobs) {
  setenv("REVEZA_STATE", (folder_ / "state").c_str(), 1);
  const auto ran = Shell("env XDG_RUNTIME_DIR=" + folder_.path().string() +
                         " " REVEZA_PROGRAM
                         " jobs run --quiet --name nightly -- sh -c 'exit {n}' ::: n 0 3 2>&1");
  const auto scraped = Shell(Command("--once"));
  unsetenv("REVEZA_STATE");
  EXPECT_NE(ran.status, 0) << "a step fails";
  const std::string job = "{job_id=\"nightly\",job_name=\"nightly\"";
  for (const std::string& line :
       {"reveza_job_running" + job + "} 0\n", "reveza_job_steps" + job + ",state=\"failed\"} 1\n",
        "reveza_job_steps" + job + ",state=\"done\"} 1\n",
        "reveza_job_attempts_total" + job + ",outcome=\"done\"} 1\n",
        "reveza_job_step_duration_seconds_count" + job + "} 1\n",
        "reveza_job_step_duration_seconds_bucket" + job + ",le=\"+Inf\"} 1\n"}) {
    EXPECT_TRUE(scraped.output.contains(line)) << line << ran.output << scraped.output;
  }
}

TEST_F(Metrics, AreServedOverHttp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const std::string command = "exec " + Command("--listen 127.0.0.1:0");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(writing.get(), STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  writing.Reset();
  const std::string line = ReadAll(reading.get(), "\n");
  const std::string head = "reveza: metrics at http://127.0.0.1:";
  ASSERT_TRUE(line.starts_with(head)) << line;
  const int port = std::atoi(line.c_str() + head.size());
  EXPECT_GT(port, 0);
  for (int i = 0; i < 2; ++i) {
    const std::string answer = Get(port, "/metrics");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200") || answer.starts_with("HTTP/1.0 200")) << answer;
    EXPECT_NE(answer.find("\nreveza_daemon_up 0\n"), std::string::npos) << answer;
  }
  kill(pid, SIGTERM);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// If the port is in use, the error names the address too.
TEST_F(Metrics, ListenAtLoopbackByDefault) {
  const auto ran = Shell("timeout -k 20 20 " + Command("") + " > " + (folder_ / "said").string() +
                         " 2>&1 & i=0; until grep -q http " + (folder_ / "said").string() +
                         " || ! kill -0 $! || [ $i = 300 ]; do sleep 0.05; i=$((i+1)); done; "
                         "grep -h ' 0A ' /proc/net/tcp /proc/net/tcp6; kill $!; wait $!; cat " +
                         (folder_ / "said").string());
  EXPECT_TRUE(ran.output.contains("metrics at http://127.0.0.1:9787") ||
              ran.output.contains("cannot serve metrics at 127.0.0.1:9787"))
      << ran.output;
  if (!ran.output.contains("cannot serve")) {
    EXPECT_TRUE(ran.output.contains(" 0100007F:263B ")) << ran.output;
    EXPECT_FALSE(ran.output.contains(" 00000000:263B ")) << ran.output;
  }
}

TEST_F(Metrics, RejectInvalidOptions) {
  EXPECT_EQ(Shell(Command("--listen nowhere")).status, 2);
  EXPECT_EQ(Shell(Command("--lisen 127.0.0.1:0")).status, 2);
  const auto taken = Shell(Command("--listen 203.0.113.1:9"));
  EXPECT_EQ(taken.status, 1);
  EXPECT_NE(taken.output.find("--listen"), std::string::npos) << taken.output;
  EXPECT_EQ(Shell(Command("--help")).status, 0);
}

}  // namespace metrics_test
}  // namespace reveza::cli
