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

}  // namespace reveza::fraudgen
