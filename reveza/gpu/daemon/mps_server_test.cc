// MPS through the daemon's socket.
#include <signal.h>

#include <cstdlib>
#include <string>

#include "reveza/gpu/daemon/testing_server.h"

namespace reveza::daemon {
namespace mps_server_test {

using nlohmann::json;

class MpsServerTest : public ServerFixture {
 protected:
  MpsServerTest() {
    path_ = std::getenv("PATH");
    setenv("PATH", (std::string(REVEZA_TEST_MPS_FOLDER) + ":" + path_).c_str(), 1);
  }
  ~MpsServerTest() override { setenv("PATH", path_.c_str(), 1); }

  json Ask(std::uint64_t job) {
    TestingClient asker(socket_);
    asker.Send(wire::MpsRequest{.job = job, .weight = wire::kWeightUnit});
    return json::parse(asker.AwaitText(), nullptr, false);
  }

  std::string path_;
};

TEST_F(MpsServerTest, StatusShowsItOfUsersAndPrograms) {
  RunningServer server(socket_);
  EXPECT_EQ(Ask(5).value("folder", ""), place_ / ("mps-" + std::to_string(geteuid())));
  const auto program = [&](std::uint64_t job, const std::string& name) {
    TestingClient client(socket_);
    client.SendHello(job, name.c_str());
    return StatusWhen([&](const json& now) {
      return !now.at("clients").empty() && now.at("clients").at(0).at("name") == name;
    });
  };
  EXPECT_EQ(program(6, "without").at("/clients/0/mps"_json_pointer), false);
  const json status = program(5, "with");
  EXPECT_EQ(status.at("/clients/0/mps"_json_pointer), true);
  const json& user = status.at("mps").at("users").at(0);
  EXPECT_EQ(user.at("jobs"), json{"0000000000000005"});
  kill(user.at("pid").get<pid_t>(), SIGKILL);
  const json failed = StatusWhen(
      [](const json& now) { return now.at("mps").at("users").at(0).at("state") == "failed"; });
  EXPECT_NE(failed.at("mps").at("users").at(0).at("why"), "");
  EXPECT_TRUE(Ask(7).contains("error"));
}

// The process that asked, this one, has connected no client yet.
TEST_F(MpsServerTest, DaemonStaysWhileAJobUsesIt) {
  Settings settings = TestSettings();
  settings.linger = std::chrono::seconds(1);
  RunningServer server(socket_, settings);
  Ask(5);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const json status = Status();
  ASSERT_TRUE(status.is_object()) << "the daemon has exited";
  kill(status.at("mps").at("users").at(0).at("pid").get<pid_t>(), SIGKILL);
}

TEST_F(MpsServerTest, AnInvalidRequestIsRefused) {
  RunningServer server(socket_);
  TestingClient asker(socket_);
  asker.Send(wire::MpsRequest{.job = 0, .weight = wire::kWeightUnit});
  EXPECT_TRUE(asker.Await<wire::Refused>().has_value());
}

}  // namespace mps_server_test
}  // namespace reveza::daemon
