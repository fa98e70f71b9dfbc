#include "datagen/stream/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace reveza::datagen {
namespace {

constexpr uint64_t kMillion = 1'000'000;
constexpr uint64_t kMostRate = 1'000'000'000;
constexpr uint64_t kMostTimes = 100'000'000;

// Later than anybody waits, and early enough that a clock's time can be added.
constexpr std::chrono::nanoseconds kNever = std::chrono::hours(24 * 365 * 100);

// All of the text, digits only.
std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A decimal with at most six places, in millionths.
std::optional<uint64_t> Millionths(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = Number(text.substr(0, point));
  if (!whole || *whole > kMostRate) return std::nullopt;
  if (point == std::string_view::npos) return *whole * kMillion;
  std::string places(text.substr(point + 1));
  if (places.empty() || places.size() > 6) return std::nullopt;
  places.resize(6, '0');
  const auto part = Number(places);
  if (!part) return std::nullopt;
  return *whole * kMillion + *part;
}

}  // namespace

Result<Schedule> Schedule::ParseRate(std::string_view text) {
  const auto millionths = Millionths(text);
  if (!millionths || *millionths == 0 || *millionths > kMostRate * kMillion) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--rate: '{}' is not right; write events a second, such as 250 or 0.5, "
                            "up to {}; as fast as it goes is --pace max",
                            text, kMostRate));
  }
  return Rate(*millionths);
}

Result<Schedule> Schedule::ParsePace(std::string_view text) {
  if (text == "max") return Max();
  if (text == "real") return Pace(1);
  const auto times = text.starts_with('x') ? Number(text.substr(1)) : std::nullopt;
  if (!times || *times == 0 || *times > kMostTimes) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("--pace: '{}' is not right; write real, max, or x60 for sixty times as "
                            "fast as the timeline, up to x{}",
                            text, kMostTimes));
  }
  return Pace(*times);
}

std::chrono::nanoseconds Schedule::DueAt(uint64_t number, int64_t time, int64_t first_time) const {
  constexpr uint64_t kNanosecondsPerMillionth = 1'000'000'000 * kMillion;
  unsigned __int128 due = 0;
  switch (kind_) {
    case Kind::kMax:
      break;
    case Kind::kRate:
      due = static_cast<unsigned __int128>(number) * kNanosecondsPerMillionth / factor_;
      break;
    case Kind::kPace:
      due = static_cast<unsigned __int128>(time - first_time) * 1'000 / factor_;
      break;
  }
  return std::chrono::nanoseconds(
      static_cast<int64_t>(std::min<unsigned __int128>(due, kNever.count())));
}

}  // namespace reveza::datagen
