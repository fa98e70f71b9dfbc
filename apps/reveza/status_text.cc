#include "status_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace reveza::cli {
namespace {

using nlohmann::json;

std::string Seconds(double seconds) {
  return FormatDuration(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

std::string GpuText(const json& gpu) {
  const std::string name = gpu.value("name", "");
  const Bytes budget = gpu.value("budget", Bytes{0});
  const Bytes resident = gpu.value("resident", Bytes{0});
  const Bytes external = gpu.value("external", Bytes{0});
  std::string text = fmt::format("GPU {}  {}\n  {} {} of {}, {} swapped out", gpu.value("index", 0),
                                 name.empty() ? gpu.value("uuid", "") : name,
                                 Bar(resident, external, budget, 32), FormatBytes(resident),
                                 FormatBytes(budget), FormatBytes(gpu.value("swapped", Bytes{0})));
  const auto handover = gpu.value("handover", json::object());
  if (handover.value("count", 0) > 0) {
    text += fmt::format(
        "\n  handovers: {}, {:.0f} ms each (drain {:.0f}, out {:.0f}, in {:.0f}), "
        "{:.1f} GB/s",
        handover.value("count", 0), handover.value("mean_ms", 0.0), handover.value("drain_ms", 0.0),
        handover.value("out_ms", 0.0), handover.value("in_ms", 0.0),
        handover.value("gb_per_s", 0.0));
  }
  for (const auto& outside : gpu.value("outside", json::array())) {
    text += fmt::format("\n  outside Reveza: pid {} holds {}: {}", outside.value("pid", 0),
                        FormatBytes(outside.value("bytes", Bytes{0})),
                        Shorten(outside.value("command", ""), 30));
  }
  return text;
}

std::string ClientText(const json& client) {
  const auto footprint = client.value("footprint", json::object());
  const auto bytes = [&](const char* kind) { return FormatBytes(footprint.value(kind, Bytes{0})); };
  std::string state = client.value("state", "");
  if (client.value("not_answering", false)) state = "not answering";
  if (client.value("unpreemptible", false)) state += " (does not drain)";
  std::string text = fmt::format(
      "{:>8} {:<15} {:<12} {:>9} {:>9} {:>9} {:>6.0f}% {:>4}", client.value("pid", 0),
      Shorten(client.value("name", ""), 15), state, bytes("resident"), bytes("swapped"),
      FormatBytes(footprint.value("pinned", Bytes{0}) + footprint.value("context", Bytes{0})),
      client.value("share", 0.0) * 100, client.value("turns", 0));
  if (const std::string why = client.value("why", ""); !why.empty()) {
    text += "\n         " + why;
  }
  return text;
}

}  // namespace

std::string Bar(Bytes full, Bytes other, Bytes whole, int width) {
  const int inner = std::max(width - 2, 1);
  const auto part = [&](Bytes bytes) {
    if (whole == 0) return 0;
    const double share = static_cast<double>(bytes) / static_cast<double>(whole);
    return static_cast<int>(std::lround(std::min(share, 1.0) * inner));
  };
  const int first = part(full);
  const int both = std::max(first, part(full + other));
  return "[" + std::string(static_cast<std::size_t>(first), '#') +
         std::string(static_cast<std::size_t>(both - first), 'x') +
         std::string(static_cast<std::size_t>(inner - both), '-') + "]";
}

std::string Shorten(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  if (width <= 3) return text.substr(0, width);
  return text.substr(0, width - 3) + "...";
}

std::string StatusText(const json& status) {
  const auto host = status.value("host", json::object());
  std::string text = fmt::format(
      "revezad {}, pid {}, up {}; host memory for swapping: {} of {}", status.value("version", ""),
      status.value("pid", 0), Seconds(status.value("uptime_s", 0.0)),
      FormatBytes(host.value("reserved", Bytes{0})), FormatBytes(host.value("budget", Bytes{0})));
  for (const auto& gpu : status.value("gpus", json::array())) text += "\n\n" + GpuText(gpu);
  const auto clients = status.value("clients", json::array());
  if (clients.empty()) return text + "\n\nno programs";
  text += fmt::format("\n\n{:>8} {:<15} {:<12} {:>9} {:>9} {:>9} {:>7} {:>4}", "pid", "name",
                      "state", "resident", "swapped", "fixed", "share", "turn");
  for (const auto& client : clients) text += "\n" + ClientText(client);
  return text;
}

}  // namespace reveza::cli
