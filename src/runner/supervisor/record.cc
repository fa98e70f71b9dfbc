#include "runner/supervisor/record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstring>

#include "base/system_error.h"
#include "base/unique_fd.h"
#include "runner/supervisor/attempt_packing.h"

namespace reveza::runner {
namespace {

constexpr std::string_view kMagic = "RVZREC01";
constexpr std::size_t kHeadSize = 8 + sizeof(BootId);
constexpr std::uint32_t kLargestBody = 4u << 20;

enum class Kind : std::uint8_t { kStarted = 1, kCycle = 2, kResult = 3 };

void Pack(Packer& packer, const AttemptStarted& entry) {
  Pack(packer, entry.name);
  packer.Add(entry.at).Add(std::string_view(entry.label)).Add(std::string_view(entry.output));
  packer.Add(std::string_view(entry.errors));
}

AttemptStarted TakeStarted(Unpacker& unpacker) {
  AttemptStarted entry;
  entry.name = TakeName(unpacker);
  entry.at = unpacker.Take<WallTime>();
  entry.label = unpacker.TakeText();
  entry.output = unpacker.TakeText();
  entry.errors = unpacker.TakeText();
  return entry;
}

constexpr Kind KindOf(const AttemptStarted&) { return Kind::kStarted; }
constexpr Kind KindOf(const CycleResult&) { return Kind::kCycle; }
constexpr Kind KindOf(const AttemptResult&) { return Kind::kResult; }

// False when the body is none that is known.
bool TakeEntry(std::string_view body, std::vector<RecordEntry>& entries) {
  Unpacker unpacker(body);
  RecordEntry entry;
  switch (unpacker.Take<Kind>()) {
    case Kind::kStarted:
      entry = TakeStarted(unpacker);
      break;
    case Kind::kCycle:
      entry = TakeCycle(unpacker);
      break;
    case Kind::kResult:
      entry = TakeResult(unpacker);
      if (std::get<AttemptResult>(entry).outcome > kLastOutcome) return false;
      break;
    default:
      return false;
  }
  if (!unpacker.whole()) return false;
  entries.push_back(std::move(entry));
  return true;
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<std::string> ReadAll(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::unexpected(SystemError("cannot read " + path, errno));
  std::string bytes;
  struct stat info{};
  if (fstat(file.get(), &info) == 0) bytes.reserve(static_cast<std::size_t>(info.st_size) + 1);
  char part[65536];
  for (;;) {
    const ssize_t size = read(file.get(), part, sizeof(part));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::unexpected(SystemError("cannot read " + path, errno));
    if (size == 0) return bytes;
    bytes.append(part, static_cast<std::size_t>(size));
  }
}

}  // namespace

const char* ToText(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
      return "done";
    case Outcome::kFailure:
      return "failed";
    case Outcome::kSignal:
      return "killed";
    case Outcome::kNotStarted:
      return "not started";
    case Outcome::kTimeLimit:
      return "out of time";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kUnknown:
      return "unknown";
    case Outcome::kMemory:
      return "out of memory";
    case Outcome::kPartial:
      return "part done";
  }
  return "unknown";
}

BootId ReadBootId(const char* path) {
  BootId boot{};
  const UniqueFd file(open(path, O_RDONLY | O_CLOEXEC));
  char text[64] = {};
  if (!file || read(file.get(), text, sizeof(text) - 1) <= 0) return boot;
  std::size_t digits = 0;
  for (const char* at = text; *at != '\0' && digits < 32; ++at) {
    int value = 0;
    if (*at >= '0' && *at <= '9') {
      value = *at - '0';
    } else if (*at >= 'a' && *at <= 'f') {
      value = *at - 'a' + 10;
    } else {
      continue;
    }
    auto& byte = boot.at(digits++ / 2);
    byte = static_cast<std::uint8_t>((byte << 4) | value);
  }
  return boot;
}

std::string PackEntry(const RecordEntry& entry) {
  Packer body;
  std::visit(
      [&body](const auto& one) {
        body.Add(KindOf(one));
        Pack(body, one);
      },
      entry);
  Packer whole;
  whole.Add(static_cast<std::uint32_t>(body.bytes().size()));
  whole.Add(static_cast<std::uint32_t>(XXH32(body.bytes().data(), body.bytes().size(), 0)));
  return whole.Take() + body.bytes();
}

Result<RecordWriter> RecordWriter::Create(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return std::unexpected(SystemError("cannot create " + path, errno));
  // Not closed on exec: this is what a child holds.
  UniqueFd lock(open(path.c_str(), O_RDONLY));
  if (!lock) return std::unexpected(SystemError("cannot lock " + path, errno));
  // Whoever asks just now who holds it has it for a moment, and nobody has it for longer.
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return std::unexpected(SystemError("cannot lock " + path, errno));
  }
  RecordWriter writer(std::move(file), std::move(lock));
  Packer head;
  const BootId boot = ReadBootId();
  for (const char letter : kMagic) head.Add(letter);
  head.Add(boot);
  if (!WriteAll(writer.file_.get(), head.bytes())) {
    return std::unexpected(SystemError("cannot write " + path, errno));
  }
  writer.size_ = static_cast<std::int64_t>(head.bytes().size());
  return writer;
}

// Half an entry would hide all that come after it.
Status RecordWriter::CutOff() {
  if (torn_ && ftruncate(file_.get(), size_) != 0) {
    return std::unexpected(SystemError("cannot write the record, nor mend it", errno));
  }
  torn_ = false;
  return {};
}

Status RecordWriter::Append(const RecordEntry& entry) {
  if (auto mended = CutOff(); !mended) return mended;
  const std::string bytes = PackEntry(entry);
  if (!WriteAll(file_.get(), bytes)) {
    const int error = errno;
    torn_ = true;
    if (auto mended = CutOff(); !mended) return mended;
    return std::unexpected(SystemError("cannot write the record", error));
  }
  size_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

Result<Record> ParseRecord(std::string_view bytes) {
  if (bytes.size() < kHeadSize || !bytes.starts_with(kMagic)) {
    return Fail(Error::Code::kIncompatible, "it is no record of a supervisor");
  }
  Record record;
  std::memcpy(record.boot.data(), bytes.data() + kMagic.size(), record.boot.size());
  bytes.remove_prefix(kHeadSize);
  while (!bytes.empty()) {
    Unpacker head(bytes);
    const auto size = head.Take<std::uint32_t>();
    const auto sum = head.Take<std::uint32_t>();
    constexpr std::size_t kEntryHead = 8;
    if (!head.ok() || size > kLargestBody || bytes.size() - kEntryHead < size) break;
    const std::string_view body = bytes.substr(kEntryHead, size);
    if (XXH32(body.data(), body.size(), 0) != sum || !TakeEntry(body, record.entries)) break;
    bytes.remove_prefix(kEntryHead + size);
  }
  record.cut_bytes = bytes.size();
  return record;
}

Result<Record> ReadRecord(const std::string& path) {
  auto bytes = ReadAll(path);
  if (!bytes) return std::unexpected(bytes.error());
  auto record = ParseRecord(*bytes);
  if (!record) return Fail(record.error().code, path + ": " + record.error().message);
  return record;
}

Result<bool> IsHeld(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  if (file && flock(file.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (file && errno == EWOULDBLOCK) return true;
  return std::unexpected(SystemError("cannot see who holds " + path, errno));
}

}  // namespace reveza::runner
