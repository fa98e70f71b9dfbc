// End-to-end tests of `reveza web`, without a browser.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/base/unique_fd.h"
#include "common/platform/testing_directory.h"
#include "common/platform/testing_shell.h"

namespace reveza::cli {
namespace web_test {

using nlohmann::json;
using platform::Shell;

std::string ReadLine(int fd) {
  std::string text;
  char letter = 0;
  while (read(fd, &letter, 1) == 1 && letter != '\n') text += letter;
  return text;
}

class Web : public testing::Test {
 protected:
  ~Web() override { Stop(); }

  std::string Command(const std::string& arguments) const {
    return fmt::format(
        "env REVEZA_SOCKET={0}/reveza.sock XDG_RUNTIME_DIR={0} XDG_CONFIG_HOME={0} "
        "XDG_STATE_HOME={0} {1} web {2}",
        folder_.path().string(), REVEZA_PROGRAM, arguments);
  }

  // Starts the server and reads its URL.
  void Start(const std::string& arguments = "--listen 127.0.0.1:0") {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    const std::string command = "exec " + Command(arguments);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(writing.get(), STDOUT_FILENO);
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    writing.Reset();
    const std::string line = ReadLine(reading.get());
    const auto mark = line.find("/#token=");
    ASSERT_NE(mark, std::string::npos) << line;
    token_ = line.substr(mark + 8);
    port_ = std::atoi(line.substr(line.rfind(':', mark) + 1, mark).c_str());
    ASSERT_GT(port_, 0) << line;
  }

  // Returns the exit status.
  int Stop() {
    if (pid_ <= 0) return -1;
    kill(pid_, SIGTERM);
    int status = -1;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  std::unique_ptr<httplib::Client> NewClient() const {
    auto client = std::make_unique<httplib::Client>("127.0.0.1", port_);
    client->set_read_timeout(30);
    return client;
  }

  httplib::Headers Token() const { return {{"Authorization", "Bearer " + token_}}; }

  int Post(const std::string& path, const std::string& body, const std::string& origin) const {
    httplib::Headers headers = Token();
    if (!origin.empty()) headers.emplace("Origin", origin);
    const auto answer = NewClient()->Post(path, headers, body, "application/json");
    return answer ? answer->status : 0;
  }
  std::string Origin() const { return fmt::format("http://127.0.0.1:{}", port_); }

  platform::TestingDirectory folder_;
  pid_t pid_ = 0;
  int port_ = 0;
  std::string token_;
};

TEST_F(Web, ServesThePageWithItsPolicy) {
  Start();
  const auto client = NewClient();
  for (const char* path : {"/", "/main.js", "/style.css", "/texts.json", "/uPlot.esm.js"}) {
    const auto answer = client->Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path;
    EXPECT_TRUE(answer->get_header_value("Content-Security-Policy").contains("default-src 'none'"));
    EXPECT_EQ(answer->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_FALSE(answer->body.contains(token_)) << path;
  }
  EXPECT_EQ(client->Get("/mainxjs")->status, 404);
  EXPECT_EQ(client->Get("/../main.js")->status, 404);
}

TEST_F(Web, FailsIfThePortIsInUse) {
  Start();
  const auto second = Shell("timeout 20 " + Command(fmt::format("--listen 127.0.0.1:{}", port_)));
  EXPECT_EQ(second.status, 1) << second.output;
  EXPECT_TRUE(second.output.contains(fmt::format("127.0.0.1:{}", port_))) << second.output;
  EXPECT_EQ(NewClient()->Get("/api/jobs", Token())->status, 200);
  EXPECT_EQ(Stop(), 0);
}

TEST_F(Web, WantsTokenHostAndOrigin) {
  Start();
  const auto client = NewClient();
  EXPECT_EQ(client->Get("/api/jobs")->status, 401);
  EXPECT_EQ(client->Get("/api/stream")->status, 401);
  EXPECT_EQ(client->Get("/api/jobs", {{"Authorization", "Bearer 0"}})->status, 401);
  EXPECT_EQ(client->Get("/api/jobs?token=" + token_)->status, 401) << "only as a header";
  httplib::Headers rebound = Token();
  rebound.emplace("Host", "evil.example");
  EXPECT_EQ(client->Get("/api/jobs", rebound)->status, 421);
  EXPECT_EQ(client->Get("/", {{"Host", "evil.example"}})->status, 421);

  const std::string pause = R"({"program":"x","action":"pause"})";
  EXPECT_EQ(Post("/api/program", pause, ""), 403);
  EXPECT_EQ(Post("/api/program", pause, "http://evil.example"), 403);
  EXPECT_EQ(Post("/api/program", pause, Origin()), 503) << "there is no daemon";
  EXPECT_EQ(NewClient()->Get("/api/program", Token())->status, 404) << "a GET changes nothing";
}

TEST_F(Web, RejectsInvalidChanges) {
  Start();
  for (const char* body :
       {"", "[]", "{}", R"({"program":"x","action":"kill"})", R"({"program":"x","action":"set"})",
        R"({"program":"x","action":"set","weight":"many"})"}) {
    EXPECT_EQ(Post("/api/program", body, Origin()), 400) << body;
  }
  for (const char* body :
       {R"({"id":"../x","action":"pause"})", R"({"id":"--all","action":"pause"})",
        R"({"id":"x","action":"prune"})"}) {
    EXPECT_EQ(Post("/api/job", body, Origin()), 400) << body;
  }
  EXPECT_EQ(Post("/api/job", R"({"id":"none","action":"pause"})", Origin()), 409);
  EXPECT_EQ(Post("/api/program", std::string(1 << 20, 'x'), Origin()), 413);
  const auto client = NewClient();
  for (const char* path : {"/api/job?id=..", "/api/log?id=x&step=-1", "/api/log?id=x",
                           "/api/explanation?id=--help", "/api/explanation?id=../x"}) {
    EXPECT_EQ(client->Get(path, Token())->status, 400) << path;
  }
}

TEST_F(Web, AnswersWhatThePageAsks) {
  Start();
  const auto client = NewClient();
  const auto jobs = client->Get("/api/jobs", Token());
  EXPECT_EQ(jobs->status, 200);
  EXPECT_EQ(json::parse(jobs->body), json::array());
  EXPECT_EQ(client->Get("/api/job?id=none", Token())->status, 409);
  const auto page = client->Get("/api/explanation?id=address-space", Token());
  EXPECT_EQ(page->status, 200);
  EXPECT_TRUE(json::parse(page->body).at("text").get<std::string>().starts_with("# "));
  EXPECT_EQ(client->Get("/api/trace", Token())->status, 503);
  EXPECT_EQ(client->Get("/api/usage", Token())->status, 409) << "nothing was recorded";
}

// Reads messages of the stream until one of them contains `text`.
bool ReadsUntil(httplib::Client& client, const httplib::Headers& headers, std::string_view text) {
  std::string read;
  bool found = false;
  client.Get("/api/stream", headers, [&](const char* data, std::size_t size) {
    read.append(data, size);
    found = read.find(text) != std::string::npos;
    return !found;
  });
  return found;
}

TEST_F(Web, StreamsSnapshots) {
  Start();
  const auto client = NewClient();
  EXPECT_TRUE(ReadsUntil(*client, Token(), "event: snapshot\ndata: {\"version\":1,"));
  EXPECT_TRUE(ReadsUntil(*client, Token(), "\"daemon\":null"));
}

TEST_F(Web, PagesThatDoNotReadHinderNobody) {
  Start();
  std::vector<std::unique_ptr<httplib::Client>> lazy;
  std::vector<std::thread> threads;
  std::atomic<bool> ended = false;
  for (int i = 0; i < 8; ++i) {
    lazy.push_back(NewClient());
    threads.emplace_back([&, client = lazy.back().get()] {
      client->Get("/api/stream", Token(), [&](const char*, std::size_t) {
        while (!ended) usleep(1000);
        return false;
      });
    });
  }
  const auto client = NewClient();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(ReadsUntil(*client, Token(), "event: snapshot"));
  EXPECT_EQ(client->Get("/", Token())->status, 200);
  EXPECT_EQ(Stop(), 0) << "nor the server's end";
  ended = true;
  for (auto& thread : threads) thread.join();
}

TEST_F(Web, WarnsWithoutCertificate) {
  const std::string file = (folder_ / "said").string();
  Start("--listen 0.0.0.0:0 2>" + file);
  EXPECT_EQ(Stop(), 0);
  EXPECT_TRUE(Shell("cat " + file).output.contains("warning"));
  Start("--listen 127.0.0.1:0 2>" + file);
  EXPECT_EQ(Stop(), 0);
  EXPECT_EQ(Shell("cat " + file).output, "");
}

TEST_F(Web, ServesHttps) {
  const std::string key = (folder_ / "key.pem").string();
  const std::string certificate = (folder_ / "cert.pem").string();
  if (Shell("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x "
            "-keyout " +
            key + " -out " + certificate)
          .status != 0) {
    GTEST_SKIP() << "needs openssl";
  }
  Start("--listen 127.0.0.1:0 --certificate " + certificate + " --key " + key);
  httplib::SSLClient client("127.0.0.1", port_);
  client.enable_server_certificate_verification(false);
  EXPECT_EQ(client.Get("/api/jobs", Token())->status, 200);
  httplib::Headers headers = Token();
  headers.emplace("Origin", Origin());
  const std::string pause = R"({"program":"x","action":"pause"})";
  EXPECT_EQ(client.Post("/api/program", headers, pause, "application/json")->status, 403)
      << "the origin has another scheme";
}

TEST_F(Web, RejectsInvalidOptions) {
  EXPECT_EQ(Shell(Command("--listen nowhere")).status, 2);
  EXPECT_EQ(Shell(Command("--listen 127.0.0.1:99999")).status, 2);
  EXPECT_EQ(Shell(Command("--certificate x")).status, 2);
  EXPECT_EQ(Shell(Command("--certificate x --key x")).status, 1);
  EXPECT_EQ(Shell(Command("--listen 203.0.113.1:9")).status, 1);
  EXPECT_EQ(Shell(Command("--help")).status, 0);
}

}  // namespace web_test
}  // namespace reveza::cli
