#include "runner/supervisor/frames.h"

#include "runner/supervisor/attempt_packing.h"

namespace reveza::runner {
namespace {

constexpr std::size_t kHead = 5;

}  // namespace

std::string PackFrame(FrameKind kind, std::string_view body) {
  Packer packer;
  packer.Add(static_cast<std::uint32_t>(body.size())).Add(kind);
  return packer.Take().append(body);
}

std::string PackStart(const StartRequest& request) {
  Packer packer;
  Pack(packer, request.name);
  packer.Add(std::string_view(request.label)).Add(request.arguments).Add(request.environment);
  packer.Add(std::string_view(request.folder)).Add(std::string_view(request.output));
  packer.Add(std::string_view(request.errors));
  packer.Add(static_cast<std::uint32_t>(request.processors.size()));
  for (const auto processor : request.processors) packer.Add(processor);
  packer.Add(request.cycles).Add(request.time_limit).Add(request.grace);
  packer.Add(std::string_view(request.group.folder)).Add(request.group.version);
  packer.Add(request.group.most).Add(std::string_view(request.group.scope));
  return PackFrame(FrameKind::kStart, packer.bytes());
}

std::optional<StartRequest> UnpackStart(std::string_view body) {
  Unpacker unpacker(body);
  StartRequest request;
  request.name = TakeName(unpacker);
  request.label = unpacker.TakeText();
  request.arguments = unpacker.TakeTexts();
  request.environment = unpacker.TakeTexts();
  request.folder = unpacker.TakeText();
  request.output = unpacker.TakeText();
  request.errors = unpacker.TakeText();
  const auto count = unpacker.Take<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && unpacker.ok(); ++i) {
    request.processors.push_back(unpacker.Take<std::uint32_t>());
  }
  request.cycles = unpacker.Take<std::uint64_t>();
  request.time_limit = unpacker.Take<std::int64_t>();
  request.grace = unpacker.Take<std::int64_t>();
  request.group.folder = unpacker.TakeText();
  request.group.version = unpacker.Take<std::uint8_t>();
  request.group.most = unpacker.Take<std::uint64_t>();
  request.group.scope = unpacker.TakeText();
  if (!unpacker.whole() || request.arguments.empty()) return std::nullopt;
  return request;
}

std::string PackResult(const AttemptResult& result) {
  Packer packer;
  Pack(packer, result);
  return PackFrame(FrameKind::kResult, packer.bytes());
}

std::optional<AttemptResult> UnpackResult(std::string_view body) {
  Unpacker unpacker(body);
  const AttemptResult result = TakeResult(unpacker);
  if (!unpacker.whole() || result.outcome > kLastOutcome) return std::nullopt;
  return result;
}

std::string PackGroup(const GroupEnd& end) {
  Packer packer;
  packer.Add(end.kills).Add(end.peak.has_value()).Add(end.peak.value_or(0)).Add(end.at_limit);
  return PackFrame(FrameKind::kGroup, packer.bytes());
}

std::optional<GroupEnd> UnpackGroup(std::string_view body) {
  Unpacker unpacker(body);
  GroupEnd end;
  end.kills = unpacker.Take<std::uint64_t>();
  const bool known = unpacker.Take<std::uint8_t>() != 0;
  const auto peak = unpacker.Take<std::uint64_t>();
  if (known) end.peak = peak;
  end.at_limit = unpacker.Take<std::uint8_t>() != 0;
  if (!unpacker.whole()) return std::nullopt;
  return end;
}

std::string PackCycle(const CycleResult& cycle) {
  Packer packer;
  Pack(packer, cycle);
  return PackFrame(FrameKind::kCycle, packer.bytes());
}

std::optional<CycleResult> UnpackCycle(std::string_view body) {
  Unpacker unpacker(body);
  CycleResult cycle = TakeCycle(unpacker);
  if (!unpacker.whole()) return std::nullopt;
  return cycle;
}

std::optional<Frame> FrameReader::Next() {
  const std::string_view left = std::string_view(bytes_).substr(begin_);
  Unpacker head(left);
  const auto size = head.Take<std::uint32_t>();
  const auto kind = head.Take<FrameKind>();
  if (!head.ok()) {
    bytes_.erase(0, begin_);
    begin_ = 0;
    return std::nullopt;
  }
  if (size > kLargest) broken_ = true;
  if (broken_ || left.size() < kHead + size) return std::nullopt;
  Frame frame{kind, std::string(left.substr(kHead, size))};
  begin_ += kHead + size;
  return frame;
}

}  // namespace reveza::runner
