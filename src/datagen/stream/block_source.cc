#include "datagen/stream/block_source.h"

#include <algorithm>
#include <utility>

namespace reveza::datagen {
namespace {

// The text of three times as many is kept for each block. Fewer would change threads more often.
constexpr std::size_t kRowsAtOnce = 128;
constexpr std::size_t kMostReady = 2;

}  // namespace

void Turns::Take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [this] { return free_ > 0; });
  --free_;
}

void Turns::GiveBack() {
  {
    const std::scoped_lock lock(mutex_);
    ++free_;
  }
  freed_.notify_one();
}

// Cuts the model's batches into ours.
class BlockSource::Rows final : public BatchSink {
 public:
  explicit Rows(BlockSource& source) : source_(source), events_(std::make_unique<EventBatch>()) {}

  Status Put(const Batch& batch) override {
    source_.writer_.Begin(batch);
    for (std::size_t first = 0; first < batch.rows(); first += kRowsAtOnce) {
      const std::size_t last = std::min(first + kRowsAtOnce, batch.rows());
      if (const Status status = source_.writer_.Write(first, last, *events_); !status) {
        return status;
      }
      if (const Status status = HandOver(); !status) return status;
    }
    return {};
  }
  Status Finish() {
    source_.writer_.Finish(*events_);
    return HandOver();
  }

 private:
  Status HandOver() {
    if (events_->size() == 0 || source_.HandOver(events_)) return {};
    return Fail(Error::Code::kUnavailable, "nobody wants more events");
  }

  BlockSource& source_;
  std::unique_ptr<EventBatch> events_;
};

BlockSource::BlockSource(MakeRows make, EventWriter writer, Turns& turns)
    : writer_(std::move(writer)),
      turns_(turns),
      thread_([this, make = std::move(make)] { Make(make); }) {}

BlockSource::~BlockSource() {
  {
    const std::scoped_lock lock(mutex_);
    unwanted_ = true;
  }
  taken_.notify_one();
}

void BlockSource::Make(const MakeRows& make) {
  turns_.Take();
  Rows rows(*this);
  Status status = make(rows);
  if (status) status = rows.Finish();
  turns_.GiveBack();
  const std::scoped_lock lock(mutex_);
  ended_ = std::move(status);
  made_.notify_one();
}

bool BlockSource::HandOver(std::unique_ptr<EventBatch>& events) {
  std::unique_lock lock(mutex_);
  ready_.push_back(std::move(events));
  made_.notify_one();
  if (ready_.size() >= kMostReady && !unwanted_) {
    lock.unlock();
    turns_.GiveBack();
    lock.lock();
    taken_.wait(lock, [this] { return ready_.size() < kMostReady || unwanted_; });
    lock.unlock();
    turns_.Take();
    lock.lock();
  }
  if (spare_.empty()) {
    events = std::make_unique<EventBatch>();
  } else {
    events = std::move(spare_.back());
    spare_.pop_back();
  }
  return !unwanted_;
}

Result<EventBatch*> BlockSource::Next() {
  std::unique_lock lock(mutex_);
  made_.wait(lock, [this] { return !ready_.empty() || ended_; });
  if (ready_.empty()) {
    const Status ended = ended_.value_or(Status());
    if (!ended) return std::unexpected(ended.error());
    return nullptr;
  }
  lent_.push_back(std::move(ready_.front()));
  ready_.pop_front();
  taken_.notify_one();
  return lent_.back().get();
}

void BlockSource::GiveBack(EventBatch* batch) {
  const std::scoped_lock lock(mutex_);
  const auto place = std::ranges::find(lent_, batch, &std::unique_ptr<EventBatch>::get);
  spare_.push_back(std::move(*place));
  lent_.erase(place);
}

}  // namespace reveza::datagen
