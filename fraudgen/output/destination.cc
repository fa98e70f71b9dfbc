#include "fraudgen/output/destination.h"

#include <algorithm>

#include "fraudgen/output/sinks.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxSmallFile = uint64_t{4} << 30;  // manifest.json of ten million files

Status Copy(ByteSource& from, ByteSink& to) {
  std::string piece(std::min(kReadBytes, from.size()), '\0');
  for (uint64_t position = 0; position < from.size();) {
    ASSIGN_OR_RETURN(const auto got, from.ReadAt(position, piece));
    if (got == 0) break;
    RETURN_IF_ERROR(to.Append(std::string_view(piece).substr(0, got)));
    position += got;
  }
  return {};
}

}  // namespace

Result<std::optional<std::string>> Destination::ReadSmall(std::string_view name) {
  const auto source = Open(name);
  if (!source && source.error().code == Error::Code::kNotFound) return std::nullopt;
  if (!source) return std::unexpected(source.error());
  if ((*source)->size() > kMaxSmallFile) {
    return Fail(Error::Code::kInternal, "{} is too large", PathOf(name));
  }
  MemorySink bytes;
  RETURN_IF_ERROR(Copy(**source, bytes));
  return bytes.bytes();
}

Result<std::string> Destination::HashOf(std::string_view name) {
  ASSIGN_OR_RETURN(const auto source, Open(name));
  NullSink nowhere;
  HashingSink hashing(nowhere);
  RETURN_IF_ERROR(Copy(*source, hashing));
  return hashing.Hash();
}

Status Destination::WriteSmall(std::string_view name, std::string_view text) {
  ASSIGN_OR_RETURN(auto sink, Create(name));
  RETURN_IF_ERROR(sink->Append(text));
  return sink->Finish();
}

}  // namespace reveza::fraudgen
