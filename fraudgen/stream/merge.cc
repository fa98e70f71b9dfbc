#include "fraudgen/stream/merge.h"

namespace reveza::fraudgen {

Status Merge::Start() {
  started_ = true;
  for (EventSource* source : sources_) {
    ASSIGN_OR_RETURN(const auto batch, source->Next());
    if (batch == nullptr) continue;
    heads_.push_back({.event = batch->At(0), .batch = batch, .index = 0, .source = source});
  }
  for (std::size_t place = heads_.size() / 2; place-- > 0;) SiftDown(place);
  return {};
}

void Merge::SiftDown(std::size_t place) {
  const Head head = heads_[place];
  for (std::size_t child = 2 * place + 1; child < heads_.size(); child = 2 * place + 1) {
    if (child + 1 < heads_.size() && heads_[child + 1].event < heads_[child].event) ++child;
    if (!(heads_[child].event < head.event)) break;
    heads_[place] = heads_[child];
    place = child;
  }
  heads_[place] = head;
}

Status Merge::Advance() {
  Head& head = heads_.front();
  if (++head.index == head.batch->size()) {
    exhausted_.emplace_back(head.source, head.batch);
    ASSIGN_OR_RETURN(const auto batch, head.source->Next());
    if (batch == nullptr) {
      head = heads_.back();
      heads_.pop_back();
      if (!heads_.empty()) SiftDown(0);
      return {};
    }
    head.batch = batch;
    head.index = 0;
  }
  head.event = head.batch->At(head.index);
  SiftDown(0);
  return {};
}

Status Merge::Next(std::size_t max_events, std::vector<Event>& events) {
  events.clear();
  for (const auto& [source, batch] : exhausted_) source->Release(batch);
  exhausted_.clear();
  if (!started_) RETURN_IF_ERROR(Start());
  while (events.size() < max_events && !heads_.empty()) {
    events.push_back(heads_.front().event);
    RETURN_IF_ERROR(Advance());
  }
  return {};
}

}  // namespace reveza::fraudgen
