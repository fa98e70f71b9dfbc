#include "daemon_books.h"

#include "monitor/json_fields.h"

namespace reveza::cli {
namespace {

constexpr std::chrono::milliseconds kMoment{500};
constexpr std::chrono::seconds kAWhile{10};

}  // namespace

std::optional<runner::GpuBooks> DaemonBooks::Ask() {
  const auto now = std::chrono::steady_clock::now();
  if (now < not_before_) return std::nullopt;
  if (!link_) {
    auto link = DaemonLink::Connect(socket_);
    if (!link) return std::nullopt;
    link_.emplace(*std::move(link));
    link_->LimitAnswers(kMoment);
  }
  const auto status = link_->Status();
  if (!status) {
    link_.reset();
    // One that went away may be followed by another at once.
    if (status.error().status != kNoDaemon) not_before_ = now + kAWhile;
    return std::nullopt;
  }
  const int says = monitor::PidAt(*status, "pid");
  return runner::ReadGpuBooks(*status, says != 0 && says == link_->Peer());
}

}  // namespace reveza::cli
