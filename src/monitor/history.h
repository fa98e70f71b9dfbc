// The last values of what is drawn as a line: CPU, pressure, SM use, link. Thread-safety: none.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "monitor/snapshot.h"

namespace reveza::monitor {

class History {
 public:
  static constexpr std::size_t kLength = 120;
  using Values = std::deque<std::optional<double>>;  // the newest last; nothing: not available

  void Add(const Snapshot& snapshot);

  // Empty for what was never there. "cpu", "memory", "gpu <uuid>", "link <uuid>", "job <id>".
  const Values& Of(const std::string& series) const;

 private:
  void Add(const std::string& series, const std::optional<double>& value);

  std::map<std::string, Values> series_;
};

}  // namespace reveza::monitor
