#include "fraudgen/stream/pipe_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fraudgen/stream/testing_events.h"

namespace reveza::fraudgen {
namespace pipe_sink_test {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read.Reset(ends[0]);
    write.Reset(ends[1]);
  }
  std::string ReadAll() const {
    std::string all;
    char part[65'536];
    for (ssize_t got; (got = ::read(read.get(), part, sizeof part)) > 0;) {
      all.append(part, static_cast<std::size_t>(got));
    }
    return all;
  }
  UniqueFd read;
  UniqueFd write;
};

// A Stop with a descriptor.
class StopByFile final : public Stop {
 public:
  StopByFile() : file_(eventfd(0, EFD_CLOEXEC)) {}
  bool Requested() override { return came_; }
  int file() const override { return file_.get(); }
  void Come() {
    came_ = true;
    eventfd_write(file_.get(), 1);
  }

 private:
  UniqueFd file_;
  std::atomic<bool> came_ = false;
};

std::vector<Event> EventsOf(const EventBatch& batch) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < batch.size(); ++i) events.push_back(batch.At(i));
  return events;
}

std::unique_ptr<EventBatch> Many(std::size_t count) {
  std::vector<TestingEvent> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back({.time = 1, .id = std::to_string(1'000'000 + i)});
  }
  return TestingBatch(events);
}

class PipeSinkTest : public testing::Test {
 protected:
  PipeSinkTest() { signal(SIGPIPE, SIG_IGN); }
  ~PipeSinkTest() override { signal(SIGPIPE, SIG_DFL); }
  StopByFile stop_;
};

TEST_F(PipeSinkTest, WritesEventsAsLines) {
  const Pipe pipe;
  const auto batch = Many(3);
  PipeSink sink(pipe.write.get(), JsonStyle::kCompact, stop_);
  ASSERT_EQ(sink.Send(EventsOf(*batch)), 3u);
  char text[1'000];
  const ssize_t got = read(pipe.read.get(), text, sizeof text);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(got)),
            "{\"id\":\"1000000\"}\n{\"id\":\"1000001\"}\n{\"id\":\"1000002\"}\n");
  EXPECT_EQ(sink.acknowledged(), 3u);
  EXPECT_EQ(fcntl(pipe.write.get(), F_GETFL) & O_NONBLOCK, 0)
      << "flags of the caller's descriptor are unchanged";
}

TEST_F(PipeSinkTest, WaitsForSlowReader) {
  Pipe pipe;
  const auto batch = Many(200'000);
  std::string read;
  std::jthread reader([&] { read = pipe.ReadAll(); });
  {
    PipeSink sink(pipe.write.get(), JsonStyle::kCompact, stop_);
    ASSERT_EQ(sink.Send(EventsOf(*batch)), 200'000u);
  }
  pipe.write.Reset();
  reader.join();
  std::string wanted;
  for (const Event& event : EventsOf(*batch)) wanted += event.line;
  EXPECT_TRUE(read == wanted);
}

TEST_F(PipeSinkTest, StopFinishesTheCurrentLine) {
  Pipe pipe;
  const auto batch = Many(200'000);
  std::string read;
  auto sink = std::make_unique<PipeSink>(pipe.write.get(), JsonStyle::kCompact, stop_);
  // The pipe is full before the stop; then the reader accepts the rest of a line.
  std::jthread reader([&] {
    stop_.Come();
    read = pipe.ReadAll();
  });
  const auto taken = sink->Send(EventsOf(*batch));
  EXPECT_EQ(sink->acknowledged(), taken.value_or(0));
  // Close all write ends, so that the reader sees the end.
  sink.reset();
  pipe.write.Reset();
  reader.join();
  ASSERT_TRUE(taken);
  const std::size_t sent = *taken;
  EXPECT_LE(sent, 200'000u);
  EXPECT_EQ(std::ranges::count(read, '\n'), static_cast<std::ptrdiff_t>(sent));
  EXPECT_TRUE(read.empty() || read.back() == '\n');
}

TEST_F(PipeSinkTest, StopDoesNotWaitForStuckReader) {
  const Pipe pipe;
  const auto batch = Many(200'000);
  PipeSink sink(pipe.write.get(), JsonStyle::kCompact, stop_);
  stop_.Come();
  const auto taken = sink.Send(EventsOf(*batch));
  ASSERT_TRUE(taken);
  EXPECT_LT(*taken, 200'000u);
  EXPECT_GT(*taken, 100u) << "capacity of the pipe";
  EXPECT_EQ(sink.acknowledged(), *taken);
}

TEST_F(PipeSinkTest, ClosedReaderIsReported) {
  Pipe pipe;
  const auto batch = Many(10);
  PipeSink sink(pipe.write.get(), JsonStyle::kCompact, stop_);
  pipe.read.Reset();
  EXPECT_FALSE(sink.Send(EventsOf(*batch)));
  EXPECT_TRUE(sink.reader_gone());
}

TEST_F(PipeSinkTest, ReportsFullDisk) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto batch = Many(10);
  PipeSink sink(full.get(), JsonStyle::kCompact, stop_);
  const auto taken = sink.Send(EventsOf(*batch));
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, Error::Code::kExhausted);
  EXPECT_FALSE(sink.reader_gone());
}

TEST(PrettyJsonTest, IndentsAndKeepsValues) {
  TextBuffer text;
  AppendPretty(R"({"a":12.50,"b":{"c":"x:{,}\"y","d":null},"e":[1,2]})", text);
  EXPECT_EQ(text.view(),
            "{\n  \"a\": 12.50,\n  \"b\": {\n    \"c\": \"x:{,}\\\"y\",\n    \"d\": null\n  },\n"
            "  \"e\": [\n    1,\n    2\n  ]\n}");
  EXPECT_EQ(nlohmann::json::parse(text.view())["b"]["c"], "x:{,}\"y");
}

}  // namespace pipe_sink_test
}  // namespace reveza::fraudgen
