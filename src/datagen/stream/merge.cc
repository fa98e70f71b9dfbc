#include "datagen/stream/merge.h"

namespace reveza::datagen {

Status Merge::Begin() {
  begun_ = true;
  for (EventSource* source : sources_) {
    const auto batch = source->Next();
    if (!batch) return std::unexpected(batch.error());
    if (*batch == nullptr) continue;
    heads_.push_back({.event = (*batch)->At(0), .batch = *batch, .index = 0, .source = source});
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
    used_up_.emplace_back(head.source, head.batch);
    const auto batch = head.source->Next();
    if (!batch) return std::unexpected(batch.error());
    if (*batch == nullptr) {
      head = heads_.back();
      heads_.pop_back();
      if (!heads_.empty()) SiftDown(0);
      return {};
    }
    head.batch = *batch;
    head.index = 0;
  }
  head.event = head.batch->At(head.index);
  SiftDown(0);
  return {};
}

Status Merge::Next(std::size_t most, std::vector<Event>& events) {
  events.clear();
  for (const auto& [source, batch] : used_up_) source->GiveBack(batch);
  used_up_.clear();
  if (!begun_) {
    if (const Status status = Begin(); !status) return status;
  }
  while (events.size() < most && !heads_.empty()) {
    events.push_back(heads_.front().event);
    if (const Status status = Advance(); !status) return status;
  }
  return {};
}

}  // namespace reveza::datagen
