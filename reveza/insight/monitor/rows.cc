#include "reveza/insight/monitor/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <compare>
#include <utility>

#include "reveza/insight/monitor/text.h"

namespace reveza::monitor {
namespace {

struct Node {
  Row row;
  std::vector<Node> children;
  std::size_t index = 0;  // original position among its siblings
};

std::string Progress(const Job& job) {
  const StepCounts& steps = job.steps;
  std::string text =
      fmt::format("{} of {} done", FormatNumber(steps.done), FormatNumber(steps.all));
  const auto add = [&](const std::optional<std::uint64_t>& count, const char* what) {
    if (count && *count > 0) text += fmt::format(", {} {}", *count, what);
  };
  add(steps.running, "running");
  add(steps.waiting, "waiting");
  add(steps.failed, "failed");
  add(steps.held, "held");
  if (job.workers) text += "; " + Plural(*job.workers, "worker");
  if (job.rate) text += fmt::format("; {:.3g} steps/s", *job.rate);
  if (job.eta_p50_seconds && job.eta_p90_seconds) {
    text += fmt::format("; {} to {} left", FormatSeconds(job.eta_p50_seconds),
                        FormatSeconds(job.eta_p90_seconds));
  }
  return text;
}

std::string MetricText(const std::string& name, const MetricSummary& metric) {
  const auto format = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4g}", *value) : std::string(kNotAvailable);
  };
  return fmt::format("{}: last {}, mean {}, min {}, max {}", name, format(metric.last),
                     format(metric.mean), format(metric.min), format(metric.max));
}

Row RowOf(RowKind kind, const Usage& use) {
  Row row;
  row.kind = kind;
  row.cpu = use.cpu;
  row.memory = use.Memory();
  row.peak = use.peak;
  row.threads = use.threads;
  row.io_read = use.io_read;
  row.io_write = use.io_write;
  return row;
}

// The clock may have been set back meanwhile.
std::optional<double> Age(double now, std::optional<double> since) {
  return since ? std::optional(std::max(now - *since, 0.0)) : std::nullopt;
}

Row RowOf(const Job& job, double now) {
  Row row = RowOf(RowKind::kJob, job.use);
  row.key = "job " + job.id;
  row.job = job.id;
  row.socket = job.socket;
  row.pid = job.pid;
  row.name = job.name.empty() ? job.id : job.name;
  row.state = job.state;
  row.age = Age(now, job.began);
  row.command = job.command;
  row.details.push_back(Progress(job));
  if (!job.waiting.empty()) row.details.push_back("waiting for " + job.waiting);
  constexpr std::size_t kMaxMetrics = 3;
  for (const auto& [name, metric] : job.metrics) {
    if (row.details.size() >= kMaxMetrics + 2) break;
    row.details.push_back(MetricText(name, metric));
  }
  return row;
}

Row RowOf(const Job& job, const Step& step, double now) {
  Row row = RowOf(RowKind::kStep, step.use);
  row.key = fmt::format("step {}/{}", job.id, step.number);
  row.job = job.id;
  row.socket = job.socket;
  row.pid = step.pid;
  row.name = fmt::format("{} {}", step.number, step.label);
  row.state = step.state;
  row.age = Age(now, step.since);
  row.command = step.command;
  if (step.memory) row.memory = step.memory;
  if (step.peak) row.peak = step.peak;
  row.claim = step.claim;
  row.gpu = step.gpu_memory;
  if (step.attempt && *step.attempt > 1) row.state += fmt::format(" #{}", *step.attempt);
  if (step.cycle) row.name += fmt::format(" {}/{}", step.cycle->done, step.cycle->all);
  return row;
}

Row RowOf(const Client& client) {
  Row row = RowOf(RowKind::kClient, client.use);
  row.key = fmt::format("client {} {} {}", client.job, client.pid, client.name);
  row.pid = client.pid;
  row.name = client.name;
  row.state = client.unresponsive ? "hung" : client.state;
  if (client.resident && client.fixed) row.gpu = *client.resident + *client.fixed;
  row.swapped = client.swapped;
  row.share = client.share;
  row.share_wanted = client.share_wanted;
  row.share_got = client.share_got;
  row.turns = client.turns;
  row.waited_seconds = client.waited_seconds;
  row.command = client.command;
  if (!client.policy.empty()) row.details.push_back(client.policy);
  if (!client.why.empty()) row.details.push_back(client.why);
  if (client.unpreemptible) row.details.emplace_back("GPU work does not drain");
  return row;
}

Row RowOf(const ExternalProcess& outside) {
  Row row = RowOf(RowKind::kOutside, outside.use);
  row.key = fmt::format("outside {} {}", outside.gpu, outside.pid);
  row.pid = outside.pid;
  row.name = outside.command.empty() ? "?" : outside.command.substr(0, outside.command.find(' '));
  if (const auto slash = row.name.rfind('/'); slash != std::string::npos) {
    row.name.erase(0, slash + 1);
  }
  row.state = "outside";
  row.gpu = outside.used;
  row.command = outside.command;
  return row;
}

std::vector<Node> Nodes(const Snapshot& snapshot) {
  std::vector<Node> nodes;
  std::vector<const Client*> top_level;
  for (const Client& client : snapshot.clients) {
    if (client.step.empty()) top_level.push_back(&client);
  }
  for (const Job& job : snapshot.jobs) {
    Node node{RowOf(job, snapshot.time), {}};
    for (const Step& step : job.running) {
      Node child{RowOf(job, step, snapshot.time), {}};
      for (const Client& client : snapshot.clients) {
        if (client.step != fmt::format("{}/{}", job.id, step.number)) continue;
        child.children.push_back({RowOf(client), {}});
        child.children.back().row.job = job.id;
        child.children.back().row.socket = job.socket;
      }
      node.children.push_back(std::move(child));
    }
    nodes.push_back(std::move(node));
  }
  for (const Client* client : top_level) nodes.push_back({RowOf(*client), {}});
  for (const ExternalProcess& outside : snapshot.outside) nodes.push_back({RowOf(outside), {}});
  return nodes;
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool Matches(const Row& row, const std::string& filter) {
  if (filter.empty()) return true;
  const std::string text = fmt::format("{}\n{}\n{}\n{}", row.name, row.state, row.command, row.pid);
  return Lower(text).find(filter) != std::string::npos;
}

// Keeps matching nodes with their ancestors and descendants. Returns whether the node is kept.
bool FilterTree(Node& node, const std::string& filter) {
  if (Matches(node.row, filter)) return true;
  std::erase_if(node.children, [&](Node& child) { return !FilterTree(child, filter); });
  return !node.children.empty();
}

void Flatten(std::vector<Node>& from, std::vector<Node>& to) {
  for (Node& node : from) {
    auto children = std::exchange(node.children, {});
    to.push_back(std::move(node));
    Flatten(children, to);
  }
}

std::optional<double> Number(const Row& row, Column column) {
  constexpr std::pair<Column, std::optional<std::uint64_t> Row::*> kCounts[] = {
      {Column::kMemory, &Row::memory}, {Column::kPeak, &Row::peak},
      {Column::kClaim, &Row::claim},   {Column::kThreads, &Row::threads},
      {Column::kGpu, &Row::gpu},       {Column::kSwapped, &Row::swapped}};
  if (column == Column::kPid && row.pid != 0) return row.pid;
  if (column == Column::kCpu) return row.cpu;
  if (column == Column::kAge) return row.age;
  if (column == Column::kIo) return IoOf(row);
  for (const auto& [counted, member] : kCounts) {
    if (counted == column && row.*member) return static_cast<double>(*(row.*member));
  }
  return std::nullopt;
}

void Sort(std::vector<Node>& nodes, const TableOptions& options) {
  for (Node& node : nodes) Sort(node.children, options);
  if (options.sort == Column::kOrder) {
    if (options.reverse) std::ranges::reverse(nodes);
    return;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].index = i;
  std::ranges::sort(nodes, [&](const Node& left, const Node& right) {
    const bool first = left.index < right.index;
    if (options.sort == Column::kName || options.sort == Column::kState) {
      const auto text = [&](const Node& node) -> const std::string& {
        return options.sort == Column::kName ? node.row.name : node.row.state;
      };
      const int order = text(left).compare(text(right));
      if (order == 0) return first;
      return options.reverse ? order > 0 : order < 0;
    }
    const auto a = Number(left.row, options.sort);
    const auto b = Number(right.row, options.sort);
    if (a == b) return first;
    if (!a || !b) return a.has_value();
    return options.reverse ? *a < *b : *b < *a;
  });
}

void AppendRows(std::vector<Node>& nodes, int depth, std::vector<Row>& rows) {
  for (Node& node : nodes) {
    node.row.depth = depth;
    rows.push_back(std::move(node.row));
    AppendRows(node.children, depth + 1, rows);
  }
}

}  // namespace

std::optional<double> IoOf(const Row& row) {
  return row.io_read && row.io_write ? std::optional(*row.io_read + *row.io_write) : std::nullopt;
}

std::string_view ToText(RowKind kind) {
  constexpr std::array<std::string_view, 4> names = {"job", "step", "client", "outside"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view ToText(Column column) {
  constexpr std::array<std::string_view, kColumns> names = {
      "order", "pid",     "name", "state",   "cpu", "memory", "peak",
      "claim", "threads", "gpu",  "swapped", "age", "io"};
  return names[static_cast<std::size_t>(column)];
}

std::vector<Row> Rows(const Snapshot& snapshot, const TableOptions& table) {
  std::vector<Node> nodes = Nodes(snapshot);
  const std::string filter = Lower(table.filter);
  if (table.tree) {
    std::erase_if(nodes, [&](Node& node) { return !FilterTree(node, filter); });
  } else {
    std::vector<Node> flat;
    Flatten(nodes, flat);
    std::erase_if(flat, [&](const Node& node) { return !Matches(node.row, filter); });
    nodes = std::move(flat);
  }
  Sort(nodes, table);
  std::vector<Row> rows;
  AppendRows(nodes, 0, rows);
  return rows;
}

}  // namespace reveza::monitor
