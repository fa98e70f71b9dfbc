#include "reveza/jobs/supervisor/record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/base/error.h"
#include "common/platform/text_file.h"

namespace reveza::jobs {
namespace {

constexpr std::string_view kMagic = "RVZREC01";
constexpr std::size_t kHeaderSize = 8 + sizeof(BootId);
constexpr std::uint32_t kMaxBody = 4u << 20;

// The kind of an entry is its index in RecordEntry, from 1. Returns false for an invalid body.
bool TakeEntry(std::string_view body, std::vector<RecordEntry>& entries) {
  const auto take = [&]<typename Entry>(std::optional<Entry> entry) {
    if (!entry) return false;
    entries.emplace_back(*std::move(entry));
    return true;
  };
  switch (body.empty() ? 0 : body.front()) {
    case 1:
      return take(Unpack<AttemptStarted>(body.substr(1)));
    case 2:
      return take(Unpack<CycleResult>(body.substr(1)));
    case 3:
      return take(Unpack<AttemptResult>(body.substr(1)));
    default:
      return false;
  }
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

}  // namespace

const char* ToText(Outcome outcome) {
  constexpr std::array kTexts = {"done",        "failed",     "killed",  "not started",
                                 "out of time", "cancelled",  "unknown", "out of memory",
                                 "part done",   "output lost"};
  return outcome <= kLastOutcome ? kTexts.at(static_cast<std::size_t>(outcome)) : "unknown";
}

std::optional<Identity> ParseIdentity(std::string_view text) {
  Identity identity{};
  if (text.size() != 2 * identity.size()) return std::nullopt;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, identity[i], 16).ptr != begin + 2) return std::nullopt;
  }
  return identity;
}

BootId ReadBootId(const char* path) {
  std::string text = platform::ReadText(path).value_or("");
  std::erase(text, '-');
  return ParseIdentity(std::string_view(text).substr(0, 2 * sizeof(BootId))).value_or(BootId{});
}

std::string PackEntry(const RecordEntry& entry) {
  Packer body;
  body.Add(static_cast<std::uint8_t>(entry.index() + 1));
  std::visit([&body](const auto& one) { body.Add(one); }, entry);
  const std::string& bytes = body.bytes();
  Packer head;
  head.Add(static_cast<std::uint32_t>(bytes.size()));
  head.Add(static_cast<std::uint32_t>(XXH32(bytes.data(), bytes.size(), 0)));
  return head.Take() + bytes;
}

Result<RecordWriter> RecordWriter::Create(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return std::unexpected(SystemError("cannot create " + path, errno));
  // Inherited by children on exec, to hold the lock.
  UniqueFd lock(open(path.c_str(), O_RDONLY));
  if (!lock) return std::unexpected(SystemError("cannot lock " + path, errno));
  // Blocks only while another process tests the lock in IsHeld().
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

// A torn entry would hide all later ones.
Status RecordWriter::TruncateTornEntry() {
  if (torn_ && ftruncate(file_.get(), size_) != 0) {
    return std::unexpected(SystemError("cannot truncate a torn entry of the record", errno));
  }
  torn_ = false;
  return {};
}

Status RecordWriter::Append(const RecordEntry& entry) {
  RETURN_IF_ERROR(TruncateTornEntry());
  const std::string bytes = PackEntry(entry);
  if (!WriteAll(file_.get(), bytes)) {
    const int error = errno;
    torn_ = true;
    RETURN_IF_ERROR(TruncateTornEntry());
    return std::unexpected(SystemError("cannot write the record", error));
  }
  size_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

Result<Record> ParseRecord(std::string_view bytes) {
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) {
    return Fail(Error::Code::kIncompatible, "not a supervisor record");
  }
  Record record;
  std::memcpy(record.boot.data(), bytes.data() + kMagic.size(), record.boot.size());
  bytes.remove_prefix(kHeaderSize);
  while (!bytes.empty()) {
    Unpacker head(bytes);
    const auto size = head.Take<std::uint32_t>();
    const auto sum = head.Take<std::uint32_t>();
    constexpr std::size_t kEntryHeader = 8;
    if (!head.ok() || size > kMaxBody || bytes.size() - kEntryHeader < size) break;
    const std::string_view body = bytes.substr(kEntryHeader, size);
    if (XXH32(body.data(), body.size(), 0) != sum || !TakeEntry(body, record.entries)) break;
    bytes.remove_prefix(kEntryHeader + size);
  }
  record.trailing_bytes = bytes.size();
  return record;
}

Result<Record> ReadRecord(const std::string& path) {
  const auto bytes = platform::ReadText(path);
  if (!bytes) return std::unexpected(SystemError("cannot read " + path, errno));
  auto record = ParseRecord(*bytes);
  if (!record) return Fail(record.error().code, path + ": " + record.error().message);
  return record;
}

Result<bool> IsHeld(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  if (file && flock(file.get(), LOCK_SH | LOCK_NB) == 0) return false;
  if (file && errno == EWOULDBLOCK) return true;
  return std::unexpected(SystemError("cannot test the lock of " + path, errno));
}

}  // namespace reveza::jobs
