#include "daemon/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <variant>
#include <vector>

#include "base/nearest.h"
#include "base/units.h"
#include "platform/text_file.h"

namespace reveza::daemon {
namespace {

using Member = std::variant<std::optional<Bytes> Settings::*, double Settings::*,
                            nanoseconds Settings::*, std::string Settings::*>;

struct Setting {
  SettingInfo info;
  Member member;
};

constexpr std::size_t kSettings = 14;

const std::array<Setting, kSettings>& Table() {
  static const std::array<Setting, kSettings> table = {{
      {{"gpu_budget", "REVEZA_GPU_BUDGET", "GPU memory that programs may hold together", "24GiB"},
       &Settings::gpu_budget},
      {{"gpu_reserve", "REVEZA_GPU_RESERVE", "GPU memory kept for modules and local memory",
        "512MiB"},
       &Settings::gpu_reserve},
      {{"context_estimate", "REVEZA_CONTEXT_ESTIMATE",
        "GPU memory that a program's context is taken to need", "640MiB"},
       &Settings::context_estimate},
      {{"host_budget", "REVEZA_HOST_BUDGET", "host memory for what is swapped out", "64GiB"},
       &Settings::host_budget},
      {{"handover_share", "REVEZA_HANDOVER_SHARE", "share of a slice that its handover may take",
        "0.05"},
       &Settings::handover_share},
      {{"slice_floor", "REVEZA_SLICE_FLOOR", "shortest time slice", "500ms"},
       &Settings::slice_floor},
      {{"slice_ceiling", "REVEZA_SLICE_CEILING", "longest time slice", "30s"},
       &Settings::slice_ceiling},
      {{"max_wait", "REVEZA_MAX_WAIT", "longest wait for a turn before programs queue", "2min"},
       &Settings::max_wait},
      {{"drain_limit", "REVEZA_DRAIN_LIMIT", "time that work on the GPU has to end", "2s"},
       &Settings::drain_limit},
      {{"queue_bound", "REVEZA_QUEUE_BOUND", "GPU work queued ahead while somebody waits", "100ms"},
       &Settings::queue_bound},
      {{"linger", "REVEZA_LINGER", "how long the daemon stays without programs", "60s"},
       &Settings::linger},
      {{"socket", "REVEZA_SOCKET", "the daemon's socket", "/run/user/1000/reveza/revezad.sock"},
       &Settings::socket},
      {{"group", "REVEZA_GROUP", "group that may use a system-wide daemon", "video"},
       &Settings::group},
      {{"log_level", "REVEZA_LOG_LEVEL", "debug, info, warning, error or off", "info"},
       &Settings::log_level},
  }};
  return table;
}

std::size_t IndexOf(std::string_view key) {
  const auto& table = Table();
  const auto found = std::ranges::find(table, key, [](const Setting& s) { return s.info.key; });
  return static_cast<std::size_t>(found - table.begin());
}

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

Result<double> ParseShare(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0.0 && value <= 0.5)) {
    return Wrong(fmt::format("'{}' is no share; write a number from 0.001 to 0.5", text));
  }
  return value;
}

Status Parse(Settings& settings, const Setting& setting, std::string_view text) {
  if (const auto* bytes = std::get_if<std::optional<Bytes> Settings::*>(&setting.member)) {
    const auto value = ParseBytes(text);
    if (!value) return std::unexpected(value.error());
    settings.*(*bytes) = *value;
  } else if (const auto* share = std::get_if<double Settings::*>(&setting.member)) {
    const auto value = ParseShare(text);
    if (!value) return std::unexpected(value.error());
    settings.*(*share) = *value;
  } else if (const auto* time = std::get_if<nanoseconds Settings::*>(&setting.member)) {
    const auto value = ParseDuration(text);
    if (!value) return std::unexpected(value.error());
    settings.*(*time) = *value;
  } else {
    settings.*std::get<std::string Settings::*>(setting.member) = text;
  }
  return {};
}

std::string Show(const Settings& settings, const Setting& setting) {
  if (const auto* bytes = std::get_if<std::optional<Bytes> Settings::*>(&setting.member)) {
    const auto& value = settings.*(*bytes);
    return value ? FormatBytes(*value) : "automatic";
  }
  if (const auto* share = std::get_if<double Settings::*>(&setting.member)) {
    return fmt::format("{}", settings.*(*share));
  }
  if (const auto* time = std::get_if<nanoseconds Settings::*>(&setting.member)) {
    return FormatDuration(settings.*(*time));
  }
  const auto& text = settings.*std::get<std::string Settings::*>(setting.member);
  return text.empty() ? "automatic" : text;
}

// A value of the file as it would be typed on the command line.
std::optional<std::string> AsText(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* whole = node.as_integer()) return fmt::format("{}", whole->get());
  return std::nullopt;
}

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// The length of the value that `text` begins with; 0: none that we take.
std::size_t ValueLength(std::string_view text) {
  if (text.empty()) return 0;
  const char quote = text[0];
  if (quote != '"' && quote != '\'') {
    const auto end = std::ranges::find_if_not(
        text, [](char c) { return IsKeyCharacter(c) || c == '.' || c == '+' || c == ':'; });
    return static_cast<std::size_t>(end - text.begin());
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return 0;
}

// Nothing, a comment, or: key = value, and perhaps a comment.
bool IsPlainLine(std::string_view line) {
  const auto skip = [&line](auto matches) {
    const std::size_t before = line.size();
    while (!line.empty() && matches(line.front())) line.remove_prefix(1);
    return before != line.size();
  };
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  skip(blank);
  if (line.empty() || line.front() == '#') return true;
  if (!skip(IsKeyCharacter)) return false;
  skip(blank);
  if (!line.starts_with('=')) return false;
  line.remove_prefix(1);
  skip(blank);
  const std::size_t length = ValueLength(line);
  if (length == 0) return false;
  line.remove_prefix(length);
  skip(blank);
  return line.empty() || line.front() == '#';
}

// The parser trips over some text that is no TOML (toml++ 3.3, found by fuzzing), so it is shown
// only what settings need: a key and a value a line. 0: all is so; else the first other line.
std::size_t LineThatIsNotPlain(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (!IsPlainLine(text.substr(0, end))) return number;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return 0;
}

}  // namespace

std::span<const SettingInfo> AllSettings() {
  static const auto infos = [] {
    std::array<SettingInfo, kSettings> all;
    std::ranges::transform(Table(), all.begin(), &Setting::info);
    return all;
  }();
  return infos;
}

Configuration::Configuration() { origins_.fill("default"); }

Status Configuration::Set(std::string_view key, std::string_view value, std::string origin) {
  const std::size_t index = IndexOf(key);
  if (index == kSettings) {
    std::vector<std::string_view> keys;
    for (const Setting& setting : Table()) keys.push_back(setting.info.key);
    const auto nearest = Nearest(key, keys);
    return Wrong(nearest ? fmt::format("unknown key '{}'; did you mean '{}'?", key, *nearest)
                         : fmt::format("unknown key '{}'; `reveza config show` lists all", key));
  }
  auto parsed = Parse(settings_, Table()[index], value);
  if (!parsed) return Wrong(fmt::format("{}: {}", key, parsed.error().message));
  origins_[index] = std::move(origin);
  return {};
}

Status Configuration::AddText(std::string_view text, const std::string& name) {
  if (const std::size_t line = LineThatIsNotPlain(text); line != 0) {
    return Wrong(fmt::format(
        "{}:{}: this is no setting; write one a line, such as: linger = \"60s\"", name, line));
  }
  const auto parsed = toml::parse(text, name);
  if (!parsed) {
    return Wrong(fmt::format("{}:{}: {}", name, parsed.error().source().begin.line,
                             parsed.error().description()));
  }
  for (const auto& [key, node] : parsed.table()) {
    const std::string place = fmt::format("{}:{}", name, key.source().begin.line);
    const auto value = AsText(node);
    const std::size_t index = IndexOf(key.str());
    if (!value && index < kSettings) {
      return Wrong(fmt::format("{}: {} is no single value; write: {} = \"{}\"", place, key.str(),
                               key.str(), Table()[index].info.example));
    }
    const auto set = Set(key.str(), value.value_or(""), place);
    if (!set) return Wrong(fmt::format("{}: {}", place, set.error().message));
  }
  return {};
}

Status Configuration::AddFile(const std::filesystem::path& path, bool must_exist) {
  const auto text = platform::ReadText(path);
  if (!text) {
    std::error_code error;
    if (!must_exist && !std::filesystem::exists(path, error)) return {};
    return Fail(Error::Code::kNotFound,
                fmt::format("cannot read the configuration {}", path.string()));
  }
  return AddText(*text, path.string());
}

Status Configuration::AddEnvironment(const platform::Environment& environment) {
  for (const Setting& setting : Table()) {
    const std::string name(setting.info.environment);
    const auto value = environment(name.c_str());
    if (!value) continue;
    // Programs under Reveza are told their budget in plain bytes.
    const bool is_bytes = std::holds_alternative<std::optional<Bytes> Settings::*>(setting.member);
    const bool is_plain = value->find_first_not_of("0123456789") == std::string::npos;
    const auto set = Set(setting.info.key, is_bytes && is_plain ? *value + "B" : *value, name);
    if (!set) return Wrong(fmt::format("{}: {}", name, set.error().message));
  }
  return {};
}

Status Configuration::AddFlag(std::string_view key, std::string_view value) {
  std::string flag = fmt::format("--{}", key);
  std::ranges::replace(flag, '_', '-');
  const auto set = Set(key, value, flag);
  if (!set) return Wrong(fmt::format("{}: {}", flag, set.error().message));
  return {};
}

Status Configuration::Check() const {
  const Settings& s = settings_;
  if (s.slice_floor > s.slice_ceiling) {
    return Wrong(fmt::format("slice_floor ({}) is above slice_ceiling ({}); see {} and {}",
                             FormatDuration(s.slice_floor), FormatDuration(s.slice_ceiling),
                             OriginOf("slice_floor"), OriginOf("slice_ceiling")));
  }
  if (s.slice_floor < std::chrono::milliseconds(1) ||
      s.drain_limit < std::chrono::milliseconds(1) || s.queue_bound.count() <= 0) {
    return Wrong("slice_floor, drain_limit and queue_bound must be at least 1ms");
  }
  if (s.drain_limit > std::chrono::hours(1) || s.queue_bound > std::chrono::hours(1)) {
    return Wrong("drain_limit and queue_bound must be at most 1h");
  }
  if (s.gpu_budget && *s.gpu_budget == 0) return Wrong("gpu_budget must be more than 0");
  return {};
}

std::string Configuration::ValueOf(std::string_view key) const {
  return Show(settings_, Table().at(IndexOf(key)));
}

const std::string& Configuration::OriginOf(std::string_view key) const {
  return origins_.at(IndexOf(key));
}

std::filesystem::path ConfigurationPath(const platform::Environment& environment) {
  if (const auto named = environment("REVEZA_CONFIG")) return *named;
  if (const auto home = environment("XDG_CONFIG_HOME")) {
    return std::filesystem::path(*home) / "reveza" / "config.toml";
  }
  const auto home = environment("HOME").value_or("/");
  return std::filesystem::path(home) / ".config" / "reveza" / "config.toml";
}

Result<Configuration> LoadConfiguration(const platform::Environment& environment) {
  Configuration configuration;
  const bool named = environment("REVEZA_CONFIG").has_value();
  if (auto file = configuration.AddFile(ConfigurationPath(environment), named); !file) {
    return std::unexpected(file.error());
  }
  if (auto env = configuration.AddEnvironment(environment); !env) {
    return std::unexpected(env.error());
  }
  return configuration;
}

}  // namespace reveza::daemon
