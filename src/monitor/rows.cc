#include "monitor/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <utility>

#include "monitor/text.h"

namespace reveza::monitor {
namespace {

struct Node {
  Row row;
  std::vector<Node> below;
  std::size_t place = 0;  // among its siblings, before they were sorted
};

std::string Progress(const Job& job) {
  const StepCounts& steps = job.steps;
  std::string text = fmt::format("{} of {} done", Count(steps.done), Count(steps.all));
  const auto add = [&](const std::optional<std::uint64_t>& count, const char* what) {
    if (count && *count > 0) text += fmt::format(", {} {}", *count, what);
  };
  add(steps.running, "running");
  add(steps.waiting, "waiting");
  add(steps.failed, "failed");
  add(steps.held, "held");
  if (job.workers) {
    text += fmt::format("; {} worker{}", *job.workers, *job.workers == 1 ? "" : "s");
  }
  if (job.rate) text += fmt::format("; {:.3g} steps/s", *job.rate);
  if (job.eta_p50_seconds && job.eta_p90_seconds) {
    text +=
        fmt::format("; {} to {} left", Seconds(job.eta_p50_seconds), Seconds(job.eta_p90_seconds));
  }
  return text;
}

std::string MetricText(const std::string& name, const MetricSummary& metric) {
  const auto figure = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4g}", *value) : std::string(kNotAvailable);
  };
  return fmt::format("{}: last {}, mean {}, from {} to {}", name, figure(metric.last),
                     figure(metric.mean), figure(metric.min), figure(metric.max));
}

Row RowOf(const Job& job) {
  Row row;
  row.kind = RowKind::kJob;
  row.key = "job " + job.id;
  row.job = job.id;
  row.socket = job.socket;
  row.pid = job.pid;
  row.name = job.name.empty() ? job.id : job.name;
  row.state = job.state;
  row.cpu = job.use.cpu;
  row.memory = job.use.Memory();
  row.threads = job.use.threads;
  row.command = job.command;
  row.details.push_back(Progress(job));
  if (!job.waiting.empty()) row.details.push_back("waits for " + job.waiting);
  constexpr std::size_t most = 3;
  for (const auto& [name, metric] : job.metrics) {
    if (row.details.size() >= most + 2) break;
    row.details.push_back(MetricText(name, metric));
  }
  return row;
}

Row RowOf(const Job& job, const Step& step) {
  Row row;
  row.kind = RowKind::kStep;
  row.key = fmt::format("step {}/{}", job.id, step.number);
  row.job = job.id;
  row.socket = job.socket;
  row.pid = step.pid;
  row.name = fmt::format("{} {}", step.number, step.label);
  row.state = step.state;
  row.cpu = step.use.cpu;
  row.memory = step.memory ? step.memory : step.use.Memory();
  row.peak = step.peak ? step.peak : step.use.peak;
  row.claim = step.claim;
  row.threads = step.use.threads;
  row.gpu = step.gpu_memory;
  if (step.attempt && *step.attempt > 1) row.state += fmt::format(" #{}", *step.attempt);
  if (step.cycle) row.name += fmt::format(" {}/{}", step.cycle->done, step.cycle->all);
  return row;
}

Row RowOf(const Client& client) {
  Row row;
  row.kind = RowKind::kClient;
  row.key = fmt::format("client {} {} {}", client.job, client.pid, client.name);
  row.pid = client.pid;
  row.name = client.name;
  row.state = client.not_answering ? "silent" : client.state;
  row.cpu = client.use.cpu;
  row.memory = client.use.Memory();
  row.peak = client.use.peak;
  row.threads = client.use.threads;
  if (client.resident && client.fixed) row.gpu = *client.resident + *client.fixed;
  row.swapped = client.swapped;
  row.share = client.share;
  row.turns = client.turns;
  row.waited_seconds = client.waited_seconds;
  row.command = client.command;
  if (!client.why.empty()) row.details.push_back(client.why);
  if (client.unpreemptible) row.details.emplace_back("its work on the GPU does not drain");
  return row;
}

Row RowOf(const Outside& outside) {
  Row row;
  row.kind = RowKind::kOutside;
  row.key = fmt::format("outside {} {}", outside.gpu, outside.pid);
  row.pid = outside.pid;
  row.name = outside.command.empty() ? "?" : outside.command.substr(0, outside.command.find(' '));
  if (const auto slash = row.name.rfind('/'); slash != std::string::npos) {
    row.name.erase(0, slash + 1);
  }
  row.state = "outside";
  row.cpu = outside.use.cpu;
  row.memory = outside.use.Memory();
  row.peak = outside.use.peak;
  row.threads = outside.use.threads;
  row.gpu = outside.used;
  row.command = outside.command;
  return row;
}

std::vector<Node> Nodes(const Snapshot& snapshot) {
  std::vector<Node> nodes;
  std::vector<const Client*> free;
  for (const Client& client : snapshot.clients) {
    if (client.step.empty()) free.push_back(&client);
  }
  for (const Job& job : snapshot.jobs) {
    Node node{RowOf(job), {}};
    for (const Step& step : job.running) {
      Node below{RowOf(job, step), {}};
      for (const Client& client : snapshot.clients) {
        if (client.step != fmt::format("{}/{}", job.id, step.number)) continue;
        below.below.push_back({RowOf(client), {}});
        below.below.back().row.job = job.id;
        below.below.back().row.socket = job.socket;
      }
      node.below.push_back(std::move(below));
    }
    nodes.push_back(std::move(node));
  }
  for (const Client* client : free) nodes.push_back({RowOf(*client), {}});
  for (const Outside& outside : snapshot.outside) nodes.push_back({RowOf(outside), {}});
  return nodes;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool Fits(const Row& row, const std::string& filter) {
  if (filter.empty()) return true;
  const std::string text = fmt::format("{}\n{}\n{}\n{}", row.name, row.state, row.command, row.pid);
  return Lower(text).find(filter) != std::string::npos;
}

// Keeps what fits, with what is above it; what is below something that fits stays too.
bool Sieve(Node& node, const std::string& filter) {
  if (Fits(node.row, filter)) return true;
  std::erase_if(node.below, [&](Node& below) { return !Sieve(below, filter); });
  return !node.below.empty();
}

void Flatten(std::vector<Node>& from, std::vector<Node>& to) {
  for (Node& node : from) {
    auto below = std::exchange(node.below, {});
    to.push_back(std::move(node));
    Flatten(below, to);
  }
}

std::optional<double> Number(const Row& row, Column column) {
  const auto as_number = [](const auto& value) -> std::optional<double> {
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  };
  switch (column) {
    case Column::kPid:
      return row.pid == 0 ? std::nullopt : std::optional<double>(row.pid);
    case Column::kCpu:
      return row.cpu;
    case Column::kMemory:
      return as_number(row.memory);
    case Column::kPeak:
      return as_number(row.peak);
    case Column::kClaim:
      return as_number(row.claim);
    case Column::kThreads:
      return as_number(row.threads);
    case Column::kGpu:
      return as_number(row.gpu);
    case Column::kSwapped:
      return as_number(row.swapped);
    case Column::kOrder:
    case Column::kName:
    case Column::kState:
      break;
  }
  return std::nullopt;
}

void Sort(std::vector<Node>& nodes, const Arrangement& how) {
  for (Node& node : nodes) Sort(node.below, how);
  if (how.sort == Column::kOrder) {
    if (how.reverse) std::ranges::reverse(nodes);
    return;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].place = i;
  std::ranges::sort(nodes, [&](const Node& left, const Node& right) {
    const bool first = left.place < right.place;
    if (how.sort == Column::kName || how.sort == Column::kState) {
      const auto text = [&](const Node& node) -> const std::string& {
        return how.sort == Column::kName ? node.row.name : node.row.state;
      };
      const int order = text(left).compare(text(right));
      if (order == 0) return first;
      return how.reverse ? order > 0 : order < 0;
    }
    const auto a = Number(left.row, how.sort);
    const auto b = Number(right.row, how.sort);
    if (a == b) return first;
    if (!a || !b) return a.has_value();
    return how.reverse ? *a < *b : *b < *a;
  });
}

void Emit(std::vector<Node>& nodes, int depth, std::vector<Row>& rows) {
  for (Node& node : nodes) {
    node.row.depth = depth;
    rows.push_back(std::move(node.row));
    Emit(node.below, depth + 1, rows);
  }
}

}  // namespace

std::string_view ToText(RowKind kind) {
  switch (kind) {
    case RowKind::kJob:
      return "job";
    case RowKind::kStep:
      return "step";
    case RowKind::kClient:
      return "client";
    case RowKind::kOutside:
      return "outside";
  }
  return "";
}

std::string_view ToText(Column column) {
  constexpr std::array<std::string_view, kColumns> names = {"order",   "pid",    "name",   "state",
                                                            "cpu",     "memory", "peak",   "claim",
                                                            "threads", "gpu",    "swapped"};
  return names[static_cast<std::size_t>(column)];
}

std::vector<Row> Rows(const Snapshot& snapshot, const Arrangement& arrangement) {
  std::vector<Node> nodes = Nodes(snapshot);
  const std::string filter = Lower(arrangement.filter);
  if (arrangement.tree) {
    std::erase_if(nodes, [&](Node& node) { return !Sieve(node, filter); });
  } else {
    std::vector<Node> flat;
    Flatten(nodes, flat);
    std::erase_if(flat, [&](const Node& node) { return !Fits(node.row, filter); });
    nodes = std::move(flat);
  }
  Sort(nodes, arrangement);
  std::vector<Row> rows;
  Emit(nodes, 0, rows);
  return rows;
}

}  // namespace reveza::monitor
