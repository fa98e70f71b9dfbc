// Table rows of a snapshot: jobs, steps, programs under Reveza and external GPU processes, sorted
// and filtered, as a tree or flat. Pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "reveza/insight/monitor/snapshot.h"

namespace reveza::monitor {

enum class RowKind { kJob, kStep, kClient, kOutside };
std::string_view ToText(RowKind kind);

struct Row {
  RowKind kind = RowKind::kJob;
  int depth = 0;       // 0 if flat
  std::string key;     // stable across snapshots; identifies the selection
  std::string job;     // id of the job that the row is or belongs to; empty: none
  std::string socket;  // of that job
  pid_t pid = 0;       // 0: unknown
  std::string name;
  std::string state;
  std::optional<double> cpu;  // cores
  std::optional<Bytes> memory;
  std::optional<Bytes> peak;
  std::optional<Bytes> claim;
  std::optional<std::uint64_t> threads;
  std::optional<Bytes> gpu;  // resident GPU memory
  std::optional<Bytes> swapped;
  std::optional<double> age;  // seconds since the start
  std::optional<double> io_read;
  std::optional<double> io_write;
  std::optional<double> share;
  std::optional<double> share_wanted;
  std::optional<double> share_got;
  std::optional<std::uint64_t> turns;
  std::optional<double> waited_seconds;
  std::string command;
  std::vector<std::string> details;  // lines below the row: progress, wait reason
};

// Returns what the process reads and writes per second.
std::optional<double> IoOf(const Row& row);

enum class Column {
  kOrder,
  kPid,
  kName,
  kState,
  kCpu,
  kMemory,
  kPeak,
  kClaim,
  kThreads,
  kGpu,
  kSwapped,
  kAge,
  kIo
};
inline constexpr int kColumns = 13;
std::string_view ToText(Column column);

struct TableOptions {
  Column sort = Column::kOrder;  // kOrder: original order, jobs first
  bool reverse = false;          // default: numbers descending, names ascending
  bool tree = true;
  std::string filter;  // case-insensitive substring of name, state, command or pid
};

// Unavailable values sort last in either direction. In a tree siblings are sorted, and the
// ancestors of matching rows are kept.
std::vector<Row> Rows(const Snapshot& snapshot, const TableOptions& table);

}  // namespace reveza::monitor
