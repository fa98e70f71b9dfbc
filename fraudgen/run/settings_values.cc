#include "fraudgen/run/settings_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "common/base/nearest.h"
#include "common/base/parse_number.h"
#include "common/base/units.h"
#include "fraudgen/model/coherent/parameters.h"

namespace reveza::fraudgen {

namespace {

// Returns the factor of a last letter; 1 without one.
uint64_t FactorOf(std::string_view text) {
  if (text.ends_with('k')) return 1'000;
  if (text.ends_with('M')) return 1'000'000;
  if (text.ends_with('G')) return 1'000'000'000;
  return 1;
}

// Parses "5000000", "5M" or "1.5M". Exact: 0.1 has no floating-point representation.
std::optional<uint64_t> ParseScaled(std::string_view text) {
  uint64_t factor = FactorOf(text);
  if (factor == 1) return ParseNumber<uint64_t>(text);
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  const auto whole = ParseNumber<uint64_t>(text.substr(0, point));
  if (!whole || *whole > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
  uint64_t value = *whole * factor;
  if (point == text.npos) return value;
  const std::string_view digits = text.substr(point + 1);
  if (digits.empty()) return std::nullopt;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9' || factor == 1) return std::nullopt;
    factor /= 10;
    value += static_cast<uint64_t>(digit - '0') * factor;
  }
  return value;
}

}  // namespace

Result<uint64_t> ParseCount(std::string_view text, uint64_t min, uint64_t max) {
  const auto value = ParseScaled(text);
  if (!value || *value < min || *value > max) {
    return InvalidArgument("'{}' is invalid; expected a whole number from {} to {}", text, min,
                           max);
  }
  return *value;
}

Result<bool> ParseFlag(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  return InvalidArgument("'{}' is invalid; expected true or false", text);
}

Result<Bytes> ParseSize(std::string_view text) {
  auto bytes = ParseBytes(text);
  if (bytes && *bytes == 0) {
    return InvalidArgument("'{}' is invalid; expected a size above 0, such as 500MB", text);
  }
  return bytes;
}

// Exact decimal arithmetic: 0.02 has no exact floating-point representation.
Result<Share> ParseShare(std::string_view text) {
  const auto wrong = [&] {
    return InvalidArgument(
        "'{}' is not a share; expected 0 to 1 with at most nine places, such as 0.02 or 2% "
        "(fraud_rate also accepts real)",
        text);
  };
  const bool percent = text.ends_with('%');
  const std::string_view number = text.substr(0, text.size() - (percent ? 1 : 0));
  uint64_t unit = Share::kWhole / (percent ? 100 : 1);
  uint64_t whole = 0;
  uint64_t billionths = 0;
  bool point = false;
  bool digits = false;
  for (const char c : number) {
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9' || whole > 100) return wrong();
    const auto digit = static_cast<uint64_t>(c - '0');
    digits = true;
    if (!point) {
      whole = whole * 10 + digit;
    } else if (unit > 1) {
      unit /= 10;
      billionths += digit * unit;
    } else if (digit != 0) {
      return wrong();
    }
  }
  billionths += whole * (Share::kWhole / (percent ? 100 : 1));
  if (!digits || billionths > Share::kWhole) return wrong();
  return Share{billionths};
}

Result<uint32_t> ParseDifficulty(std::string_view text) {
  if (text == "easy") return coherent::kEasy;
  if (text == "medium") return coherent::kMedium;
  if (text == "hard") return coherent::kHard;
  constexpr uint64_t kThousandth = Share::kWhole / 1000;
  const auto share = ParseShare(text);
  if (!share || share->billionths % kThousandth != 0) {
    return InvalidArgument(
        "'{}' is not a difficulty; expected easy, medium, hard or 0 to 1 with at most three places",
        text);
  }
  return static_cast<uint32_t>(share->billionths / kThousandth);
}

std::string ShowDifficulty(uint32_t thousandths) {
  return ShowShare(Share{uint64_t{thousandths} * (Share::kWhole / 1000)});
}

std::string ShowShare(Share share) {
  std::string text =
      fmt::format("{}.{:09}", share.billionths / Share::kWhole, share.billionths % Share::kWhole);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text += '0';
  return text;
}

std::string ShowSize(Bytes bytes) {
  using Units = std::array<std::string_view, 5>;
  constexpr Units kDecimal = {"B", "kB", "MB", "GB", "TB"};
  constexpr Units kBinary = {"B", "KiB", "MiB", "GiB", "TiB"};
  const auto show = [bytes](uint64_t factor, const Units& units) {
    Bytes value = bytes;
    std::size_t unit = 0;
    for (; value != 0 && value % factor == 0 && unit + 1 < units.size(); ++unit) value /= factor;
    return fmt::format("{}{}", value, units.at(unit));
  };
  // The shorter one is how it was given.
  const std::string decimal = show(1000, kDecimal);
  const std::string binary = show(1024, kBinary);
  return binary.size() < decimal.size() ? binary : decimal;
}

Result<DefectRates> ParseDefects(std::string_view text) {
  DefectRates rates;
  if (text == "none") return rates;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    const std::size_t equals = part.find('=');
    ASSIGN_OR_RETURN(const auto kind, ParseWord(part.substr(0, equals), kDefectKindNames));
    Share& rate = rates.of.at(kind);
    if (rate.billionths > 0) return InvalidArgument("'{}' is listed twice", part);
    rate = DefectRates::kDefaultShare;
    if (equals == part.npos) continue;
    const auto share = ParseShare(part.substr(equals + 1));
    if (!share || share->billionths == 0 || share->billionths > DefectRates::kMaxShare.billionths) {
      return InvalidArgument("'{}': the share must be above 0 and at most {}, such as late=0.01",
                             part, ShowShare(DefectRates::kMaxShare));
    }
    rate = *share;
  }
  return rates;
}

std::string ShowDefects(const DefectRates& rates) {
  std::string text;
  for (std::size_t i = 0; i < rates.of.size(); ++i) {
    if (rates.of.at(i).billionths == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", kDefectKindNames.at(i),
                        ShowShare(rates.of.at(i)));
  }
  return text;
}

Result<std::size_t> ParseWord(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::ranges::find(words, text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const auto nearest = Nearest(text, words);
  return InvalidArgument("'{}' is invalid; {}expected one of {}", text,
                         nearest ? fmt::format("did you mean '{}'? ", *nearest) : "",
                         fmt::join(words, ", "));
}

std::string ShowDate(const std::optional<CivilDate>& date) { return date ? FormatDate(*date) : ""; }

}  // namespace reveza::fraudgen
