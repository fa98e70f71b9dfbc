#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reveza/gpu/daemon/testing_core.h"

namespace reveza::daemon {
namespace core_policy_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uid_t kOwner = 1000;

class CorePolicyTest : public testing::Test {
 protected:
  // Adds a job of one client, whose process has 100 times its number.
  void Add(ClientId client, const char* name, Bytes swapped = 60 * kMiB) {
    harness_.Hello(client, 0x70 + client, name, static_cast<pid_t>(100 * client), 0, false, kOwner);
    Finish(client, swapped);
  }
  void RequestContext(ClientId client) {
    wire::ContextRequested message{};
    message.uuid[15] = 1;
    message.total = 256 * kMiB;
    harness_.Deliver(client, message);
  }
  void Finish(ClientId client, Bytes swapped) {
    RequestContext(client);
    const auto admitted = harness_.Take<wire::ContextAdmitted>(client);
    if (!admitted) return;
    harness_.Deliver(client, wire::ContextCreated{admitted->gpu, 0, 8 * kMiB});
    harness_.ReportAccount(client, 0, swapped, 0);
  }
  json Change(const char* name, const wire::Policy& policy, uid_t uid = kOwner) {
    wire::JobRequest request{};
    request.policy = policy;
    wire::CopyText(request.name, sizeof(request.name), name);
    return json::parse(harness_.core.OnJobRequest(uid, request));
  }
  json ClientOf(std::size_t index) {
    return json::parse(harness_.core.StatusJson()).at("clients").at(index);
  }

  static wire::Policy Weight(std::uint32_t hundredths) {
    wire::Policy policy{};
    policy.fields = wire::kPolicyWeight;
    policy.weight = hundredths;
    return policy;
  }
  static wire::Policy Memory(Bytes request, Bytes limit) {
    wire::Policy policy{};
    policy.fields = wire::kPolicyMemory;
    policy.request = request;
    policy.limit = limit;
    return policy;
  }
  static wire::Policy Paused(bool paused) {
    wire::Policy policy{};
    policy.fields = wire::kPolicyPaused;
    policy.paused = paused ? 1 : 0;
    return policy;
  }

  TestingCore harness_;
};

TEST_F(CorePolicyTest, AJobIsFoundByNamePidOrNumber) {
  Add(1, "train");
  for (const char* name : {"train", "100", "0000000000000071"}) {
    EXPECT_EQ(Change(name, Weight(200)).at("ok"), true) << name;
  }
  EXPECT_EQ(ClientOf(0).at("policy").at("weight"), 2.0);
  for (const char* name : {"other", "101", "0000000000000072", "", "71"}) {
    EXPECT_EQ(Change(name, Weight(300)).at("code"), "not_found") << name;
  }
  EXPECT_EQ(ClientOf(0).at("policy").at("weight"), 2.0);
}

TEST_F(CorePolicyTest, AnAmbiguousNameIsRefused) {
  Add(1, "train");
  Add(2, "train");
  EXPECT_EQ(Change("train", Paused(true)).at("code"), "ambiguous");
  EXPECT_EQ(Change("200", Paused(true)).at("ok"), true);
  EXPECT_EQ(ClientOf(0).at("policy").at("paused"), false);
  EXPECT_EQ(ClientOf(1).at("policy").at("paused"), true);
}

TEST_F(CorePolicyTest, OnlyTheOwnerAndRootMayChangeAJob) {
  Add(1, "train");
  EXPECT_EQ(Change("train", Paused(true), kOwner + 1).at("code"), "permission");
  EXPECT_EQ(ClientOf(0).at("policy").at("paused"), false);
  EXPECT_EQ(Change("train", Paused(true), 0).at("ok"), true);
  EXPECT_EQ(Change("train", Paused(false), kOwner).at("ok"), true);
}

TEST_F(CorePolicyTest, ChangesAreToldToTheClients) {
  Add(1, "train");
  Change("train", Weight(250));
  const auto told = harness_.Take<wire::Policy>(1);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->weight, 250u);
  EXPECT_EQ(told->limit, 0u);
  // The next daemon learns of it.
  TestingCore next;
  next.Hello(1, 0x71, "train", 100);
  EXPECT_TRUE(next.Deliver(1, *told));
  next.Start(1, 0x71, "train", 100, 0);
}

TEST_F(CorePolicyTest, FieldsThatAreNotNamedStay) {
  Add(1, "train");
  Change("train", Weight(200));
  Change("train", Memory(16 * kMiB, 128 * kMiB));
  Change("train", Paused(true));
  const json policy = ClientOf(0).at("policy");
  EXPECT_EQ(policy.at("weight"), 2.0);
  EXPECT_EQ(policy.at("memory_request"), 16 * kMiB);
  EXPECT_EQ(policy.at("memory_limit"), 128 * kMiB);
  EXPECT_EQ(policy.at("priority"), "normal");
  EXPECT_EQ(policy.at("interactive"), false);
  EXPECT_EQ(policy.at("paused"), true);
  EXPECT_EQ(ClientOf(0).at("state"), "paused");
  Change("train", Memory(0, 0));
  EXPECT_EQ(ClientOf(0).at("policy").at("memory_limit"), nullptr);
}

TEST_F(CorePolicyTest, ARequestThatCannotBeKeptIsRefusedWithFigures) {
  Add(1, "first");
  Add(2, "second");
  EXPECT_EQ(Change("first", Memory(150 * kMiB, 0)).at("ok"), true);
  const json refused = Change("second", Memory(100 * kMiB, 0));
  EXPECT_EQ(refused.at("code"), "shortage");
  EXPECT_NE(refused.at("error").get<std::string>().find("98 MiB"), std::string::npos) << refused;
  EXPECT_EQ(ClientOf(1).at("policy").at("memory_request"), 0);
  EXPECT_EQ(Change("second", Memory(98 * kMiB, 0)).at("ok"), true);
  EXPECT_EQ(Change("second", Memory(2 * kMiB, kMiB)).at("code"), "invalid");
}

TEST_F(CorePolicyTest, APolicyOfTheClientCountsFromTheStart) {
  harness_.Hello(1, 0x71, "train", 100, 0, false, kOwner);
  EXPECT_TRUE(harness_.Deliver(1, Memory(0, 100 * kMiB)));
  RequestContext(1);
  const auto admitted = harness_.Take<wire::ContextAdmitted>(1);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->budget, 100 * kMiB) << "as on a smaller card";
}

TEST_F(CorePolicyTest, TheQueueIsShortBesideASleepingInteractiveJob) {
  Add(1, "train", 200 * kMiB);
  Add(2, "notebook", 200 * kMiB);
  harness_.Deliver(1, wire::GateRequested{});
  EXPECT_TRUE(harness_.SwapIn(1, 200 * kMiB));
  wire::Policy interactive{};
  interactive.fields = wire::kPolicyInteractive;
  interactive.interactive = 1;
  Change("notebook", interactive);
  const auto bound = harness_.Take<wire::QueueBound>(1);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->bound_us, 10'000u);
  EXPECT_EQ(bound->always, 1u);
}

TEST_F(CorePolicyTest, WhatIsPromisedToOthersIsNotPresented) {
  Add(1, "first");
  Change("first", Memory(150 * kMiB, 0));
  harness_.Hello(2, 0x72, "second", 200);
  RequestContext(2);
  const auto admitted = harness_.Take<wire::ContextAdmitted>(2);
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->budget, 98 * kMiB);
}

TEST_F(CorePolicyTest, AContextIsRefusedWithFigures) {
  Add(1, "first");
  Change("first", Memory(150 * kMiB, 0));
  harness_.Hello(2, 0x72, "second", 200);
  harness_.Deliver(2, Memory(128 * kMiB, 0));
  RequestContext(2);
  const auto refused = harness_.Take<wire::ContextRefused>(2);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->uuid[15], 1);
  const std::string text = refused->text;
  for (const char* figure : {"128 MiB", "248 MiB", "150 MiB"}) {
    EXPECT_NE(text.find(figure), std::string::npos) << text;
  }
  harness_.Deliver(2, Memory(64 * kMiB, 0));
  RequestContext(2);
  EXPECT_TRUE(harness_.Take<wire::ContextAdmitted>(2));
}

TEST_F(CorePolicyTest, TheLastVersionIsSpokenToInItsOwn) {
  harness_.Hello(1, 0x71, "old", 100, 0, false, kOwner, 2);
  Finish(1, 60 * kMiB);
  Change("old", Weight(200));
  EXPECT_FALSE(harness_.Take<wire::Policy>(1));
  EXPECT_EQ(ClientOf(0).at("policy").at("weight"), 2.0);
}

TEST_F(CorePolicyTest, ThePolicyEndsWithTheJob) {
  Add(1, "train");
  Change("train", Weight(200));
  harness_.core.OnDeath(1);
  Add(1, "train");
  EXPECT_EQ(ClientOf(0).at("policy").at("weight"), 1.0);
}

TEST_F(CorePolicyTest, SharesAreShown) {
  Add(1, "a", 200 * kMiB);
  Add(2, "b", 200 * kMiB);
  Change("b", Weight(300));
  harness_.Deliver(1, wire::GateRequested{});
  ASSERT_TRUE(harness_.SwapIn(1, 200 * kMiB));
  harness_.Deliver(2, wire::GateRequested{});
  harness_.Advance(seconds(1));
  harness_.Advance(seconds(1));
  EXPECT_EQ(ClientOf(0).at("share_wanted"), 0.25);
  EXPECT_EQ(ClientOf(1).at("share_wanted"), 0.75);
  EXPECT_EQ(ClientOf(0).at("share_got"), 1.0);
  EXPECT_EQ(ClientOf(1).at("share_got"), 0.0);
}

TEST(JobEntry, PercentilesAreOfTheLastWaits) {
  JobEntry entry;
  EXPECT_EQ(entry.WaitPercentile(0.5), Time(0));
  for (int i = 1; i <= 100; ++i) entry.waits.push_back(milliseconds(i));
  EXPECT_EQ(entry.WaitPercentile(0), milliseconds(1));
  EXPECT_NEAR(static_cast<double>(entry.WaitPercentile(0.5).count()), 50e6, 1.1e6);
  EXPECT_EQ(entry.WaitPercentile(0.99), milliseconds(100));
  EXPECT_EQ(entry.WaitPercentile(1), milliseconds(100));
}

TEST_F(CorePolicyTest, WaitsAtTheGateAreMeasured) {
  Add(1, "a", 200 * kMiB);
  harness_.Deliver(1, wire::GateRequested{});
  harness_.clock.Advance(milliseconds(30));
  ASSERT_TRUE(harness_.SwapIn(1, 200 * kMiB));
  EXPECT_EQ(ClientOf(0).at("wait_ms").at("count"), 1);
  EXPECT_EQ(ClientOf(0).at("wait_ms").at("p99"), 30.0);
}

TEST_F(CorePolicyTest, QuotasHoldForAllJobsOfAUser) {
  harness_.settings.quotas = {{.quota = {.weight = 0.5, .limit = 150 * kMiB}, .origin = ""}};
  Add(1, "first");
  Add(2, "second");
  EXPECT_EQ(ClientOf(0).at("quota").at("memory"), 150 * kMiB);
  EXPECT_EQ(ClientOf(0).at("quota").at("weight"), 0.5);
  harness_.Deliver(2,
                   wire::GrowthRequested{.request = 5, .gpu = 0, .kind = {}, .bytes = 20 * kMiB});
  const auto answer = harness_.Take<wire::GrowthAnswer>(2);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->answer, wire::Growth::kRefused);
  // The other's context of 8 MiB cannot be moved.
  EXPECT_EQ(Change("first", Memory(143 * kMiB, 0)).at("code"), "shortage");
  EXPECT_EQ(Change("first", Memory(142 * kMiB, 0)).at("ok"), true);
}

TEST_F(CorePolicyTest, WithoutAQuotaThereIsNone) {
  Add(1, "first");
  EXPECT_TRUE(ClientOf(0).at("quota").is_null());
}

}  // namespace core_policy_test
}  // namespace reveza::daemon
