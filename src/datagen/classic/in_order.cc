// The classic model's rows have times that know nothing of each other. Here they are put in order,
// some days at a time: the times of all rows are looked at again for each part of the period, which
// takes a few nanoseconds a row, and those that fall into it are kept with their row's number.
#include <algorithm>
#include <array>
#include <tuple>

#include "datagen/civil_time.h"
#include "datagen/classic/classic_model.h"

namespace reveza::datagen::classic {
namespace {

// What is kept at a time, unless a single day has more.
constexpr uint64_t kMostRows = uint64_t{1} << 22;
// The columns of so many stay near the processor.
constexpr std::size_t kRowsAtOnce = 1'024;

}  // namespace

struct ClassicModel::Timed {
  int64_t time;
  uint64_t row : 63;
  uint64_t fraud : 1;
};

void ClassicModel::DrawTimes(const Table& table, uint64_t first, std::span<int64_t> times) const {
  if (&table == &kRides) {
    rides_.DrawTimes(first, times);
  } else {
    transactions_.DrawTimes(first, times);
  }
}

// Those with a time from `begin` to before `end`, in order.
void ClassicModel::FindRows(const Table& table, int64_t begin, int64_t end,
                            std::vector<Timed>& found) const {
  found.clear();
  const BlockPlan& plan = PlanOf(table);
  std::array<int64_t, Batch::kMaxRows> times;
  for (uint64_t index = 0; index < plan.count(); ++index) {
    const Block block = plan.At(index);
    const FraudMarks marks = MarksOf(table, block);
    for (uint64_t offset = 0; offset < block.rows; offset += times.size()) {
      const std::size_t count = std::min<uint64_t>(times.size(), block.rows - offset);
      DrawTimes(table, block.first_row + offset, std::span(times).first(count));
      for (std::size_t i = 0; i < count; ++i) {
        if (times[i] < begin || times[i] >= end) continue;
        found.push_back({.time = times[i],
                         .row = block.first_row + offset + i,
                         .fraud = marks.IsFraud(offset + i)});
      }
    }
  }
  // Identifiers are the rows' numbers, so they have the same order.
  std::ranges::sort(found, {}, [](const Timed& timed) {
    return std::tuple(timed.time, static_cast<uint64_t>(timed.row));
  });
}

Status ClassicModel::MakeInOrder(const Table& table, BatchSink& sink) const {
  if (&table != &kTransactions && &table != &kRides) {
    return Fail(Error::Code::kInternal, "only transactions and rides have an order in time");
  }
  const uint64_t rows = PlanOf(table).rows();
  if (rows == 0) return {};
  const uint64_t days = world_.days();
  const auto days_at_once = static_cast<int64_t>(
      std::max<uint64_t>(1, static_cast<uint64_t>(static_cast<unsigned __int128>(days) * kMostRows /
                                                  std::max(rows, kMostRows))));
  const int64_t last = world_.first_day() + static_cast<int64_t>(days);
  std::vector<Timed> found;
  std::vector<uint64_t> listed;
  std::vector<uint8_t> frauds;
  Batch batch(table);
  for (int64_t day = world_.first_day(); day < last; day += days_at_once) {
    FindRows(table, day * kMicrosecondsPerDay, (day + days_at_once) * kMicrosecondsPerDay, found);
    for (std::size_t first = 0; first < found.size(); first += kRowsAtOnce) {
      const std::size_t count = std::min(kRowsAtOnce, found.size() - first);
      listed.clear();
      frauds.clear();
      for (const Timed& timed : std::span(found).subspan(first, count)) {
        listed.push_back(timed.row);
        frauds.push_back(timed.fraud);
      }
      batch.Begin(count);
      Fill(table, BatchRows(listed, frauds), batch);
      if (Status status = sink.Put(batch); !status) return status;
    }
  }
  return {};
}

}  // namespace reveza::datagen::classic
