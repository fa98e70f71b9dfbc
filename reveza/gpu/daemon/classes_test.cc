#include "reveza/gpu/daemon/classes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace classes_test {

std::vector<PolicyClass> Classes(const std::string& text) {
  const auto root = ParseToml(text, "c.toml");
  EXPECT_TRUE(root.has_value());
  auto classes = ParseClasses(*root, "c.toml");
  EXPECT_TRUE(classes.has_value()) << classes.error().message;
  return classes.value_or(std::vector<PolicyClass>{});
}

std::string ErrorOf(const std::string& text) {
  const auto root = ParseToml(text, "c.toml");
  if (!root) return root.error().message;
  const auto classes = ParseClasses(*root, "c.toml");
  return classes ? "" : classes.error().message;
}

constexpr const char* kClasses =
    "[[class]]\nname = 'notebooks'\ncommand = '*jupyter*'\ninteractive = true\n"
    "memory = '4GiB:8GiB'\n"
    "[[class]]\nname = 'students'\ngroup = 'stud*'\nweight = 0.5\npriority = 'low'\n"
    "[[class]]\nname = 'slurm'\ncgroup = '/system.slice/slurm*'\nmemory = ':2GiB'\n"
    "[[class]]\nname = 'ana'\nuser = 'ana'\nweight = 3\n";

TEST(Classes, TheFirstThatMatchesCounts) {
  const auto classes = Classes(kClasses);
  ASSERT_EQ(classes.size(), 4u);
  const auto find = [&](const char* command, const Identity& identity) -> std::string {
    const PolicyClass* const found = FindClass(classes, command, identity);
    return found == nullptr ? "" : found->name;
  };
  const Identity ana{.user = "ana", .groups = {"staff", "students"}, .cgroup = "/user.slice/x"};
  EXPECT_EQ(find("python /usr/bin/jupyter-lab", ana), "notebooks");
  EXPECT_EQ(find("python train.py", ana), "students");
  EXPECT_EQ(find("train", {.user = "ana", .groups = {"staff"}, .cgroup = "/"}), "ana");
  EXPECT_EQ(find("train", {.user = "bia", .groups = {}, .cgroup = "/system.slice/slurmd/job1"}),
            "slurm");
  EXPECT_EQ(find("train", {.user = "bia", .groups = {"staff"}, .cgroup = ""}), "");
}

TEST(Quotas, TheFirstThatMatchesTheUserCounts) {
  const auto root = ParseToml(
      "[[quota]]\nuser = 'ana'\nweight = 3\n"
      "[[quota]]\ngroup = 'stud*'\nmemory = '20GiB'\nweight = 0.5\n[[quota]]\nmemory = '40GiB'\n",
      "c.toml");
  const auto quotas = ParseQuotas(*root, "c.toml");
  ASSERT_TRUE(quotas.has_value()) << quotas.error().message;
  ASSERT_EQ(quotas->size(), 3u);
  const auto find = [&](const Identity& identity) { return FindQuota(*quotas, identity)->quota; };
  EXPECT_EQ(find({.user = "ana", .groups = {"students"}, .cgroup = ""}),
            (scheduler::Quota{.weight = 3}));
  EXPECT_EQ(find({.user = "bia", .groups = {"staff", "students"}, .cgroup = ""}),
            (scheduler::Quota{.weight = 0.5, .limit = 20 * kGiB}));
  EXPECT_EQ(find({.user = "eva", .groups = {}, .cgroup = ""}),
            (scheduler::Quota{.limit = 40 * kGiB}));
  EXPECT_EQ((*quotas)[1].origin, "c.toml:4");
  EXPECT_EQ(FindQuota({}, {}), nullptr);
}

TEST(Quotas, ReportErrors) {
  const auto error = [](const std::string& text) {
    const auto root = ParseToml(text, "c.toml");
    const auto quotas = ParseQuotas(*root, "c.toml");
    return quotas ? std::string() : quotas.error().message;
  };
  EXPECT_TRUE(error("[[quota]]\nuser = 'ana'\n").contains("memory or weight"));
  EXPECT_TRUE(error("[[quota]]\nmemroy = '1GiB'\n").contains("did you mean 'memory'"));
  EXPECT_TRUE(error("[[quota]]\nmemory = 'much'\n").starts_with("c.toml:2:"));
  EXPECT_TRUE(error("[[quota]]\nweight = 0\n").starts_with("c.toml:2:"));
  EXPECT_TRUE(error("[quota]\nmemory = '1GiB'\n").contains("[[quota]]"));
}

TEST(Classes, HavePolicies) {
  const auto classes = Classes(kClasses);
  const scheduler::Policy notebook{.interactive = true, .request = 4 * kGiB, .limit = 8 * kGiB};
  EXPECT_EQ(classes[0].policy, notebook);
  EXPECT_EQ(classes[0].origin, "c.toml:1");
  const scheduler::Policy student{.weight = 0.5, .priority = scheduler::Priority::kLow};
  EXPECT_EQ(classes[1].policy, student);
  EXPECT_EQ(classes[2].policy, (scheduler::Policy{.limit = 2 * kGiB}));
}

TEST(Classes, ErrorsNameThePlaceAndWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf("[[class]]\nname = 'a'\nwieght = 2\n").substr(0, 43),
            "c.toml:3:1: unknown key 'wieght'; did you m");
  EXPECT_NE(ErrorOf("[[class]]\nweight = 2\n").find("must have a name"), std::string::npos);
  EXPECT_NE(ErrorOf("[[class]]\nname='a'\nweight = 0\n").find("from 0.01"), std::string::npos);
  EXPECT_NE(ErrorOf("[[class]]\nname='a'\npriority = 'top'\n").find("low, normal or high"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[class]]\nname='a'\ninteractive = 1\n").find("true or false"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[class]]\nname='a'\nmemory = '4GiB:2GiB'\n").find("exceeds the limit"),
            std::string::npos);
  EXPECT_NE(ErrorOf("[[class]]\nname='a'\nmemory = [1]\n").find("single value"), std::string::npos);
  EXPECT_NE(ErrorOf("class = 3\n").find("[[class]]"), std::string::npos);
  EXPECT_NE(ErrorOf("class = [3]\n").find("[[class]]"), std::string::npos);
}

TEST(Classes, AreReadWithTheOtherSettings) {
  Configuration configuration;
  ASSERT_TRUE(configuration.AddText(std::string("gpu_budget = '8GiB'\n") + kClasses, "c.toml"));
  EXPECT_EQ(configuration.settings().gpu_budget, 8 * kGiB);
  EXPECT_EQ(configuration.settings().classes.size(), 4u);
  const auto wrong = configuration.AddText("[[class]]\nname = 'a'\nx = 1\n", "d.toml");
  EXPECT_NE(wrong.error().message.find("d.toml:3:1"), std::string::npos);
}

TEST(Classes, IdentityIsThatOfTheProcess) {
  const Identity self = IdentityOf(getpid(), getuid());
  EXPECT_FALSE(self.user.empty());
  if (getuid() == 0) {
    EXPECT_EQ(self.user, "root");
    EXPECT_TRUE(std::ranges::find(self.groups, "root") != self.groups.end());
  }
  EXPECT_EQ(IdentityOf(getpid(), 4'000'000'000).user, "4000000000");
}

class ClassesOfCore : public testing::Test {
 protected:
  ClassesOfCore() { harness_.settings.classes = Classes(kClasses); }

  // Adds a job of user bia, and returns its entry in the status.
  nlohmann::json Add(ClientId client, const char* command,
                     const std::optional<wire::Policy>& policy = std::nullopt) {
    wire::Hello hello{};
    hello.job = 0x70 + client;
    wire::CopyText(hello.command, sizeof(hello.command), command);
    const Identity bia{.user = "bia", .groups = {}, .cgroup = "/"};
    harness_.core.OnHello(client, {.pid = static_cast<pid_t>(100 + client), .identity = bia},
                          hello);
    if (policy) harness_.Deliver(client, *policy);
    const auto status = nlohmann::json::parse(harness_.core.StatusJson());
    for (const auto& one : status.at("clients")) {
      if (one.at("pid") == 100 + client) return one.at("policy");
    }
    return nullptr;
  }

  TestingCore harness_;
};

TEST_F(ClassesOfCore, DecideForProgramsThatSayNothing) {
  const auto notebook = Add(1, "jupyter lab");
  EXPECT_EQ(notebook.at("class"), "notebooks");
  EXPECT_EQ(notebook.at("interactive"), true);
  EXPECT_EQ(notebook.at("memory_request"), 4 * kGiB);
  const auto other = Add(2, "python train.py");
  EXPECT_TRUE(other.at("class").is_null());
  EXPECT_EQ(other.at("weight"), 1.0);
}

TEST_F(ClassesOfCore, WhatAProgramSaysItselfCounts) {
  wire::Policy policy{};
  policy.fields = wire::kPolicyWeight | wire::kPolicyInteractive;
  policy.weight = 200;
  const auto notebook = Add(1, "jupyter lab", policy);
  EXPECT_EQ(notebook.at("weight"), 2.0);
  EXPECT_EQ(notebook.at("interactive"), false);
  EXPECT_EQ(notebook.at("memory_request"), 4 * kGiB) << "it did not say";
}

}  // namespace classes_test
}  // namespace reveza::daemon
