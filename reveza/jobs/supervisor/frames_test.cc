#include "reveza/jobs/supervisor/frames.h"

#include <gtest/gtest.h>

namespace reveza::jobs {
namespace frames_test {

StartRequest Request() {
  StartRequest request;
  request.name.identity[3] = 9;
  request.name.attempt = 2;
  request.label = "seed=9";
  request.arguments = {"./simulate", "--seed", "9", ""};
  request.environment = {"PATH=/bin", "EMPTY="};
  request.folder = "/";
  request.output = "out";
  request.errors = "err";
  request.processors = {1, 3};
  request.cycles = 1;
  request.time_limit = 5;
  request.grace = 6;
  request.group = {"/groups/step-1-1", 2, 7, "/scopes/1"};
  return request;
}

TEST(FramesTest, GroupStatsRoundTrip) {
  for (const GroupStats& end : {GroupStats{3, 70, true}, GroupStats{0, std::nullopt}}) {
    FrameReader reader;
    reader.Feed(Pack(end));
    const auto frame = reader.Next();
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->kind, FrameKind::kGroup);
    EXPECT_EQ(Unpack<GroupStats>(frame->body), end);
    EXPECT_FALSE(Unpack<GroupStats>(frame->body + "x"));
    EXPECT_FALSE(Unpack<GroupStats>(std::string_view(frame->body).substr(1)));
  }
}

TEST(FramesTest, StartRequestRoundTrips) {
  FrameReader reader;
  reader.Feed(Pack(Request()));
  const auto frame = reader.Next();
  ASSERT_TRUE(frame);
  ASSERT_EQ(frame->kind, FrameKind::kStart);
  const auto request = Unpack<StartRequest>(frame->body);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->name, Request().name);
  EXPECT_EQ(request->arguments, Request().arguments);
  EXPECT_EQ(request->environment, Request().environment);
  EXPECT_EQ(request->processors, Request().processors);
  EXPECT_EQ(request->time_limit, 5);
  EXPECT_EQ(request->grace, 6);
  EXPECT_EQ(request->group, (GroupRequest{"/groups/step-1-1", 2, 7, "/scopes/1"}));
}

TEST(FramesTest, ReassemblesFramesFromAnyChunks) {
  const std::string bytes = Pack(Request()) + PackFrame(FrameKind::kPause) + Pack(AttemptResult{});
  for (std::size_t step : {1, 2, 7, 64}) {
    FrameReader reader;
    std::vector<FrameKind> kinds;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.Feed(std::string_view(bytes).substr(at, step));
      while (const auto frame = reader.Next()) kinds.push_back(frame->kind);
    }
    EXPECT_EQ(kinds, (std::vector{FrameKind::kStart, FrameKind::kPause, FrameKind::kResult}));
    EXPECT_FALSE(reader.broken());
  }
}

TEST(FramesTest, RejectsTruncatedAndOverlongRequests) {
  FrameReader reader;
  reader.Feed(Pack(Request()));
  const std::string body = reader.Next()->body;
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(Unpack<StartRequest>(std::string_view(body).substr(0, size))) << size;
  }
  EXPECT_FALSE(Unpack<StartRequest>(body + "x"));
}

TEST(FramesTest, RejectsRequestsWithoutACommand) {
  StartRequest request = Request();
  request.arguments.clear();
  FrameReader reader;
  reader.Feed(Pack(request));
  EXPECT_FALSE(Unpack<StartRequest>(reader.Next()->body));
}

TEST(FramesTest, RejectsUndefinedOutcomes) {
  AttemptResult result;
  result.outcome = static_cast<Outcome>(99);
  FrameReader reader;
  reader.Feed(Pack(result));
  EXPECT_FALSE(Unpack<AttemptResult>(reader.Next()->body));
}

TEST(FramesTest, InvalidSizeBreaksTheStream) {
  FrameReader reader;
  reader.Feed("\xff\xff\xff\xffnonsense");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.broken());
}

}  // namespace frames_test
}  // namespace reveza::jobs
