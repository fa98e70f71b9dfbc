#include "reveza/gpu/calls/reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace reveza::calls {

// Reads numbers and texts. After an error nothing more can be read.
class CallRecording::Decoder {
 public:
  explicit Decoder(std::span<const unsigned char> bytes) : bytes_(bytes) {}

  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned char byte = Byte();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  unsigned char Byte() {
    if (at_ >= bytes_.size()) failed_ = true;
    return failed_ ? 0 : bytes_[at_++];
  }
  // Reads a number of at most `max`.
  std::uint32_t Small(std::uint32_t max) {
    const std::uint64_t value = Number();
    if (value > max) failed_ = true;
    return failed_ ? 0 : static_cast<std::uint32_t>(value);
  }
  std::span<const unsigned char> Bytes(std::size_t count) {
    if (count > bytes_.size() - at_) failed_ = true;
    if (failed_) return {};
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  std::string Text() {
    const auto bytes = Bytes(Small(kMaxText));
    return {bytes.begin(), bytes.end()};
  }
  void AppendWords(std::size_t count, std::string* to) {
    for (std::size_t first = 0; first < count && !failed_; first += 64) {
      const unsigned mask = Byte();
      std::uint64_t words[8] = {};
      for (unsigned i = 0; i < 8; ++i) {
        if ((mask >> i & 1) != 0) words[i] = Number();
      }
      to->append(reinterpret_cast<const char*>(words), std::min<std::size_t>(count - first, 64));
    }
  }
  std::span<const unsigned char> Rest() { return Bytes(bytes_.size() - at_); }

  std::size_t at() const { return at_; }
  bool AtEnd() const { return at_ == bytes_.size(); }
  bool failed() const { return failed_; }

 private:
  std::span<const unsigned char> bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

namespace {

constexpr std::uint32_t kMaxTypes = 4096;
constexpr std::uint32_t kMaxCalls = 16384;
constexpr std::uint32_t kMaxParameters = 64;
constexpr std::uint32_t kMaxTypeBytes = 4096;
constexpr int kMaxDepth = 4;

std::unexpected<Error> Damaged(const std::string& what) {
  return InvalidArgument("the recording is damaged: " + what);
}

}  // namespace

Result<CallRecording> CallRecording::Parse(std::string contents) {
  FileHeader header{};
  if (contents.size() < sizeof header || std::memcmp(contents.data(), kMagic, sizeof kMagic) != 0) {
    return InvalidArgument(
        "not a recording of `reveza trace --calls`: it does not begin with RVZCALLS");
  }
  std::memcpy(&header, contents.data(), sizeof header);
  if (header.version != kVersion) {
    return Fail(Error::Code::kIncompatible,
                "the recording has version {}; this program reads version {}: record it again, or "
                "use the version of Reveza that wrote it",
                header.version, kVersion);
  }
  if (header.header_bytes % kPage != 0 ||
      header.table_bytes > header.header_bytes - sizeof header ||
      header.header_bytes < sizeof header || header.header_bytes > contents.size()) {
    return Damaged("the header does not fit the file");
  }
  CallRecording recording;
  recording.pid_ = header.pid;
  recording.contents_.assign(contents.begin(), contents.end());
  contents = {};
  Decoder tables(std::span(recording.contents_).subspan(sizeof header, header.table_bytes));
  RETURN_IF_ERROR(recording.ReadTables(tables));
  RETURN_IF_ERROR(recording.ReadBlocks(header.header_bytes));
  std::ranges::stable_sort(recording.records_, {}, &Record::sequence);
  return recording;
}

Status CallRecording::ReadTables(Decoder& in) {
  program_ = in.Text();
  types_.resize(in.Small(kMaxTypes));
  for (Type& type : types_) {
    type.name = in.Text();
    const unsigned kind = in.Byte();
    if (kind >= kClasses) return Damaged("type " + type.name + " has an unknown class");
    type.kind = static_cast<Class>(kind);
    type.bytes = in.Small(kMaxTypeBytes);
    type.fields.resize(in.Small(kMaxTypeBytes));
    for (Field& field : type.fields) {
      field = {.offset = in.Small(kMaxTypeBytes),
               .type = in.Small(static_cast<std::uint32_t>(types_.size() - 1)),
               .count = in.Small(kNoCount)};
      const bool outside = field.offset + sizeof(std::uint64_t) > type.bytes ||
                           (field.count != kNoCount && field.count + sizeof(int) > type.bytes);
      if (in.failed() || outside) return Damaged("type " + type.name + " has a wrong member");
    }
    if (in.failed()) return Damaged("the types are incomplete");
  }
  calls_.resize(in.Small(kMaxCalls));
  for (Call& call : calls_) {
    call.name = in.Text();
    call.parameters.resize(in.Small(kMaxParameters));
    for (Parameter& parameter : call.parameters) {
      const unsigned mode = in.Byte();
      const std::uint32_t type = in.Small(kMaxTypes);
      const int count = static_cast<int>(in.Small(kMaxParameters)) - 1;
      if (in.failed() || mode >= kModes || type >= types_.size() ||
          count >= static_cast<int>(call.parameters.size())) {
        return Damaged("call " + call.name + " has a wrong parameter");
      }
      parameter = {static_cast<Mode>(mode), type, count};
    }
    if (in.failed()) return Damaged("the calls are incomplete");
  }
  if (in.failed()) return Damaged("the tables are incomplete");
  return {};
}

Status CallRecording::ReadBlocks(std::size_t offset) {
  // A page without a block was allocated when the process ended.
  for (; offset + sizeof(BlockHeader) <= contents_.size(); offset += kPage) {
    BlockHeader header{};
    std::memcpy(&header, contents_.data() + offset, sizeof header);
    if (header.magic == 0) continue;
    if (header.magic != kBlockMagic || header.bytes % kPage != 0 || header.bytes == 0 ||
        header.bytes > kMaxBlock || header.used > header.bytes - sizeof header) {
      return Damaged("the block at byte " + std::to_string(offset) + " is none");
    }
    RETURN_IF_ERROR(ReadBlock(offset, header));
    if (header.bytes > contents_.size() - offset) break;
    offset += header.bytes - kPage;
  }
  return {};
}

Status CallRecording::ReadBlock(std::size_t offset, const BlockHeader& header) {
  const std::size_t begin = offset + sizeof header;
  const std::size_t there = std::min<std::size_t>(header.used, contents_.size() - begin);
  if (there < header.used) cut_ = true;
  Decoder in(std::span<const unsigned char>(contents_).subspan(begin, there));
  std::uint64_t sequence = 0;
  while (!in.AtEnd()) {
    const std::size_t at = begin + in.at();
    const std::uint64_t bytes = in.Number();
    sequence += in.Number();
    const auto encoded = in.Bytes(bytes);
    if (in.failed()) {
      if (there < header.used) break;
      return Damaged("the record at byte " + std::to_string(at) + " does not fit its block");
    }
    Record record{.sequence = sequence,
                  .thread = header.thread,
                  .call = 0,
                  .result = 0,
                  .has_values = false,
                  .encoded = {}};
    Decoder inside(encoded);
    RETURN_IF_ERROR(ReadRecord(inside, at, &record));
    records_.push_back(record);
  }
  return {};
}

Status CallRecording::ReadRecord(Decoder& in, std::size_t at, Record* record) {
  const std::string where = "the record at byte " + std::to_string(at);
  record->call = in.Small(kMaxCalls);
  record->result = in.Small(std::numeric_limits<std::uint32_t>::max());
  record->has_values = in.Byte() != 0;
  if (in.failed() || record->call >= calls_.size()) return Damaged(where + " is of no known call");
  record->encoded = in.Rest();
  if (!record->has_values) return {};
  Decoder again(record->encoded);
  std::vector<Value> values;
  if (!ReadValues(again, calls_[record->call], &values) || !again.AtEnd()) {
    return Damaged(where + " has wrong parameters");
  }
  return {};
}

std::vector<Value> CallRecording::Values(const Record& record) const {
  Decoder in(record.encoded);
  std::vector<Value> values;
  ReadValues(in, calls_[record.call], &values);
  return values;
}

bool CallRecording::ReadValues(Decoder& in, const Call& call, std::vector<Value>* values) const {
  for (const Parameter& parameter : call.parameters) {
    Value& value = values->emplace_back();
    switch (parameter.mode) {
      case Mode::kIgnored:
        break;
      case Mode::kValue:
        value.present = true;
        value.number = in.Number();
        break;
      case Mode::kText:
        value.present = in.Small(1) != 0;
        if (value.present) value.bytes = in.Text();
        break;
      case Mode::kRead:
      case Mode::kWritten:
        if (!ReadElements(in, types_[parameter.type], 0, &value)) return false;
        break;
      case Mode::kLaunch: {
        const std::uint32_t bytes = in.Small(kMaxLaunchBytes);
        value.present = bytes > 0;
        in.AppendWords(bytes, &value.bytes);
        break;
      }
    }
    if (in.failed()) return false;
  }
  return true;
}

bool CallRecording::ReadElements(Decoder& in, const Type& type, int depth, Value* value) const {
  const std::uint32_t count = in.Small(kMaxElements + 1);
  if (in.failed() || depth >= kMaxDepth) return false;
  value->present = count > 0;
  for (std::uint32_t i = 1; i < count && !in.failed(); ++i) {
    if (type.kind != Class::kStruct) {
      value->numbers.push_back(in.Number());
      continue;
    }
    in.AppendWords(type.bytes, &value->bytes);
    for (const Field& field : type.fields) {
      if (field.count == kNoCount) continue;
      Value member;
      if (!ReadElements(in, types_[field.type], depth + 1, &member)) return false;
      value->members.push_back(std::move(member));
    }
  }
  return !in.failed();
}

}  // namespace reveza::calls
