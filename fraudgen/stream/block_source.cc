#include "fraudgen/stream/block_source.h"

#include <algorithm>
#include <utility>

namespace reveza::fraudgen {
namespace {

// Up to three batches are kept per block. Smaller batches would switch threads more often.
constexpr std::size_t kRowsAtOnce = 128;
constexpr std::size_t kMaxReady = 2;

}  // namespace

void ConcurrencyLimit::Acquire() {
  const MutexLock lock(mutex_);
  while (free_ == 0) freed_.Wait(mutex_);
  --free_;
}

void ConcurrencyLimit::Release() {
  {
    const MutexLock lock(mutex_);
    ++free_;
  }
  freed_.NotifyOne();
}

// Splits the model's batches into event batches.
class BlockSource::Rows final : public BatchSink {
 public:
  explicit Rows(BlockSource& source) : source_(source), events_(std::make_unique<EventBatch>()) {}

  Status Put(const Batch& batch) override {
    source_.writer_.Begin(batch);
    for (std::size_t first = 0; first < batch.rows(); first += kRowsAtOnce) {
      const std::size_t last = std::min(first + kRowsAtOnce, batch.rows());
      RETURN_IF_ERROR(source_.writer_.Write(first, last, *events_));
      RETURN_IF_ERROR(Exchange());
    }
    return {};
  }
  Status Finish() {
    source_.writer_.Finish(*events_);
    return Exchange();
  }

 private:
  Status Exchange() {
    if (events_->size() == 0 || source_.Exchange(events_)) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  }

  BlockSource& source_;
  std::unique_ptr<EventBatch> events_;
};

BlockSource::BlockSource(MakeRows make, EventWriter writer, ConcurrencyLimit& limit)
    : writer_(std::move(writer)),
      limit_(limit),
      thread_([this, make = std::move(make)] { Make(make); }) {}

BlockSource::~BlockSource() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  taken_.NotifyOne();
}

void BlockSource::Make(const MakeRows& make) {
  limit_.Acquire();
  Rows rows(*this);
  Status status = make(rows);
  if (status) status = rows.Finish();
  limit_.Release();
  const MutexLock lock(mutex_);
  ended_ = std::move(status);
  made_.NotifyOne();
}

bool BlockSource::Exchange(std::unique_ptr<EventBatch>& events) {
  MutexLock lock(mutex_);
  ready_.push_back(std::move(events));
  made_.NotifyOne();
  if (ready_.size() >= kMaxReady && !stopped_) {
    lock.Unlock();
    limit_.Release();
    lock.Lock();
    while (ready_.size() >= kMaxReady && !stopped_) taken_.Wait(mutex_);
    lock.Unlock();
    limit_.Acquire();
    lock.Lock();
  }
  if (spare_.empty()) {
    events = std::make_unique<EventBatch>();
  } else {
    events = std::move(spare_.back());
    spare_.pop_back();
  }
  return !stopped_;
}

Result<EventBatch*> BlockSource::Next() {
  const MutexLock lock(mutex_);
  while (ready_.empty() && !ended_) made_.Wait(mutex_);
  if (ready_.empty()) {
    RETURN_IF_ERROR(ended_.value_or(Status()));
    return nullptr;
  }
  lent_.push_back(std::move(ready_.front()));
  ready_.pop_front();
  taken_.NotifyOne();
  return lent_.back().get();
}

void BlockSource::Release(EventBatch* batch) {
  const MutexLock lock(mutex_);
  const auto place = std::ranges::find(lent_, batch, &std::unique_ptr<EventBatch>::get);
  spare_.push_back(std::move(*place));
  lent_.erase(place);
}

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
