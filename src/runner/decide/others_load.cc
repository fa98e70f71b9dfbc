#include "runner/decide/others_load.h"

#include <algorithm>

#include "platform/process_table.h"

namespace reveza::runner {
namespace {

constexpr std::chrono::milliseconds kShortest{500};
constexpr double kNew = 0.3;  // the weight of the last look
constexpr double kNoNews = 0.5;

}  // namespace

void OthersLoad::Seen(nanoseconds now, const platform::CpuTicks& machine, nanoseconds ours) {
  if (last_ && now - last_->at < kShortest) return;
  const Look look{now, machine, ours};
  if (last_ && machine.busy >= last_->machine.busy) {
    const double passed = std::chrono::duration<double>(now - last_->at).count();
    const double all = static_cast<double>(machine.busy - last_->machine.busy) /
                       static_cast<double>(platform::TicksPerSecond());
    const double own = std::chrono::duration<double>(ours - last_->ours).count();
    const double others = std::max(0.0, all - std::max(0.0, own)) / passed;
    busy_ = busy_ ? kNew * others + (1 - kNew) * *busy_ : others;
  }
  last_ = look;
}

std::optional<double> OthersLoad::Beyond(double budget) const {
  if (!busy_) return std::nullopt;
  const double elsewhere = std::max(0.0, last_->machine.cores - budget);
  const double here = *busy_ - elsewhere;
  return here < kNoNews ? 0 : here;
}

}  // namespace reveza::runner
