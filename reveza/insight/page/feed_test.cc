#include "reveza/insight/page/feed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace reveza::page {
namespace feed_test {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kNow{0};

// What a daemon with process `pid` answers: `count` events from number `first` on, of client 7.
json Answer(std::uint64_t first, std::uint64_t count, int pid = 100) {
  json events = json::array();
  for (std::uint64_t i = first; i < first + count; ++i) {
    events.push_back({7u, "slice", 0u, static_cast<double>(i), 1.0, 0u, 0u});
  }
  return {{"pid", pid},
          {"next", first + count},
          {"now_us", 5e6},
          {"clients", {{7u, "00aa", 4711, "<b>train</b>"}, {8u, "00bb", 4712, "idle"}}},
          {"open", {{8u, "wait for its turn", 2.0}}},
          {"events", events}};
}

// Returns the data of the messages of one event type in a text.
std::vector<json> Data(const std::string& text, const std::string& type) {
  std::vector<json> found;
  const std::string mark = "event: " + type + "\ndata: ";
  for (auto at = text.find(mark); at != text.npos; at = text.find(mark, at + 1)) {
    const auto begin = at + mark.size();
    found.push_back(json::parse(text.substr(begin, text.find("\n\n", begin) - begin)));
  }
  return found;
}

TEST(Feed, TellsOfSnapshotsAndEvents) {
  Feed feed;
  feed.SetSnapshot(R"({"version":1})");
  feed.AddEvents(Answer(0, 2), 1000.0);
  Feed::Place place;
  const std::string text = feed.Next(place, kNow).value();
  const auto snapshots = Data(text, "snapshot");
  ASSERT_EQ(snapshots.size(), 1u);
  EXPECT_EQ(snapshots[0].at("version"), 1);
  const auto timeline = Data(text, "timeline");
  ASSERT_EQ(timeline.size(), 1u);
  EXPECT_EQ(timeline[0].at("lanes"),
            json::parse(R"([["00aa",4711,"<b>train</b>"],["00bb",4712,"idle"]])"));
  EXPECT_EQ(timeline[0].at("events").size(), 2u);
  EXPECT_EQ(timeline[0].at("events").at(1), json::parse(R"([0,"slice",0,1.0,1.0,0,0])"));
  EXPECT_EQ(timeline[0].at("open"), json::parse(R"([[1,"wait for its turn",2.0]])"));
  EXPECT_EQ(timeline[0].at("now"), 5.0);
  EXPECT_EQ(timeline[0].at("offset"), 995.0);
  EXPECT_EQ(feed.next_of_daemon(), 2u);
  EXPECT_EQ(feed.Next(place, kNow), ": nothing new\n\n");
}

TEST(Feed, SendsLanesOnlyWhenTheyChange) {
  Feed feed;
  feed.AddEvents(Answer(0, 1), 0);
  Feed::Place place;
  feed.Next(place, kNow);
  feed.AddEvents(Answer(1, 1), 0);
  EXPECT_TRUE(Data(feed.Next(place, kNow).value(), "timeline").at(0).at("lanes").is_null());
  json renamed = Answer(2, 1);
  renamed["clients"][0][3] = "other";
  feed.AddEvents(renamed, 0);
  EXPECT_EQ(Data(feed.Next(place, kNow).value(), "timeline").at(0).at("lanes").at(0).at(2),
            "other");
}

TEST(Feed, SlowPageGetsOnlyTheLastSnapshot) {
  Feed feed;
  Feed::Place slow;
  for (int i = 0; i < 1000; ++i) feed.SetSnapshot(std::to_string(i));
  EXPECT_EQ(Data(feed.Next(slow, kNow).value(), "snapshot"), std::vector<json>{999});
}

TEST(Feed, SlowPageIsToldWhatItMissed) {
  Feed feed;
  Feed::Place slow;
  Feed::Place fast;
  std::size_t seen = 0;
  constexpr std::uint64_t kPart = 1'000;
  const std::uint64_t all = Feed::kMaxEvents + 5 * kPart;
  for (std::uint64_t first = 0; first < all; first += kPart) {
    feed.AddEvents(Answer(first, std::min(kPart, all - first)), 0);
    const auto message = Data(feed.Next(fast, kNow).value(), "timeline").at(0);
    EXPECT_EQ(message.at("lost"), false);
    seen += message.at("events").size();
  }
  EXPECT_EQ(seen, all) << "the other page misses nothing";
  const auto first = Data(feed.Next(slow, kNow).value(), "timeline").at(0);
  EXPECT_EQ(first.at("lost"), true);
  EXPECT_EQ(first.at("more"), true);
  EXPECT_EQ(first.at("events").size(), Feed::kMaxPart);
  EXPECT_EQ(first.at("events").at(0).at(3), static_cast<double>(all - Feed::kMaxEvents));
  std::size_t rest = Feed::kMaxPart;
  for (;;) {
    const auto messages = Data(feed.Next(slow, kNow).value(), "timeline");
    if (messages.empty()) break;
    rest += messages.at(0).at("events").size();
  }
  EXPECT_EQ(rest, Feed::kMaxEvents);
}

TEST(Feed, AsksARestartedDaemonFromTheBeginning) {
  Feed feed;
  feed.AddEvents(Answer(0, 500, 100), 0);
  EXPECT_EQ(feed.next_of_daemon(), 500u);
  feed.LoseDaemon();
  Feed::Place place;
  const auto lost = Data(feed.Next(place, kNow).value(), "timeline").at(0);
  EXPECT_TRUE(lost.at("now").is_null());
  EXPECT_TRUE(lost.at("open").empty());
  // The new daemon has counted to 700, and was asked for those after 500.
  feed.AddEvents(Answer(500, 200, 200), 0);
  EXPECT_EQ(feed.next_of_daemon(), 0u);
  feed.AddEvents(Answer(0, 700, 200), 0);
  EXPECT_EQ(feed.next_of_daemon(), 700u);
  const auto found = Data(feed.Next(place, kNow).value(), "timeline").at(0);
  EXPECT_EQ(found.at("events").size(), 700u);
  EXPECT_TRUE(found.at("lanes").is_null()) << "its programs keep their lanes";
}

TEST(Feed, IgnoresMalformedAnswers) {
  Feed feed;
  Feed::Place place;
  for (const char* bad : {"null", "[]", "{}", R"({"next":-1,"now_us":1,"pid":1})",
                          R"({"next":1,"now_us":"x","pid":1})"}) {
    feed.AddEvents(json::parse(bad), 0);
  }
  EXPECT_EQ(feed.Next(place, kNow), ": nothing new\n\n");
  json rows = Answer(0, 1);
  rows["events"].push_back({7u, "slice"});
  rows["events"].push_back({99u, "slice", 0u, 1.0, 1.0, 0u, 0u});
  rows["events"].push_back(5);
  rows["clients"].push_back({1u});
  rows["open"].push_back({"x"});
  feed.AddEvents(rows, 0);
  const auto timeline = Data(feed.Next(place, kNow).value(), "timeline").at(0);
  EXPECT_EQ(timeline.at("events").size(), 1u);
  EXPECT_EQ(timeline.at("open").size(), 1u);
}

TEST(Feed, WakesPagesThatWait) {
  Feed feed;
  Feed::Place place;
  std::thread other([&] { feed.SetSnapshot("1"); });
  EXPECT_NE(feed.Next(place, std::chrono::minutes(1)), std::nullopt);
  other.join();
  std::thread closing([&] { feed.Close(); });
  EXPECT_EQ(feed.Next(place, std::chrono::minutes(1)), std::nullopt);
  closing.join();
}

TEST(Feed, CountsPages) {
  Feed feed;
  EXPECT_TRUE(feed.Enter(2));
  EXPECT_TRUE(feed.Enter(2));
  EXPECT_FALSE(feed.Enter(2));
  feed.Leave();
  EXPECT_EQ(feed.pages(), 1u);
}

}  // namespace feed_test
}  // namespace reveza::page
