#include "fraudgen/stream/event.h"

#include <algorithm>
#include <utility>

namespace reveza::fraudgen {

void EventBatch::Clear() {
  entries_.clear();
  names_.Clear();
  lines_.Clear();
  defects_.clear();
}

void EventBatch::Add(const Event& event) {
  const std::size_t line = lines_.size();
  lines_.Append(event.line);
  AddLine(event.time, event.id, event.key, line, event.line.size());
  if (event.defect != nullptr) SetDefect(*event.defect);
}

void EventBatch::SetDefect(EventDefect defect) {
  defects_.push_back(std::move(defect));
  entries_.back().defect = static_cast<uint32_t>(defects_.size());
}

void EventBatch::AddLine(int64_t time, std::string_view id, std::string_view key, std::size_t line,
                         std::size_t line_size) {
  entries_.push_back({.time = time,
                      .name = static_cast<uint32_t>(names_.size()),
                      .line = static_cast<uint32_t>(line),
                      .line_size = static_cast<uint32_t>(line_size),
                      .id_size = static_cast<uint16_t>(id.size()),
                      .key_size = static_cast<uint16_t>(key.size()),
                      .defect = 0});
  names_.Append(id);
  names_.Append(key);
}

void EventBatch::Sort() {
  const std::string_view names = names_.view();
  const auto before = [names](const Entry& one, const Entry& other) {
    if (one.time != other.time) return one.time < other.time;
    return names.substr(one.name, one.id_size) < names.substr(other.name, other.id_size);
  };
  if (!std::ranges::is_sorted(entries_, before)) std::ranges::sort(entries_, before);
}

}  // namespace reveza::fraudgen
