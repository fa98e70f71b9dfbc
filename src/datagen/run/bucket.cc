#include "datagen/run/bucket.h"

#include <fmt/format.h>

#include <utility>

#include "datagen/output/hashing_sink.h"
#include "datagen/output/memory_sink.h"

namespace reveza::datagen {

std::string PrefixOfDay(std::string_view prefix, CivilDate day) {
  return fmt::format("{}{}{:04}/{:02}/{:02}", prefix, prefix.empty() ? "" : "/", day.year,
                     day.month, day.day);
}

Bucket::Bucket(ObjectStore& store, StoreAddress address)
    : store_(store), address_(std::move(address)) {}

std::string Bucket::KeyOf(std::string_view name) const {
  return fmt::format("{}{}{}", address_.prefix, address_.prefix.empty() ? "" : "/", name);
}

std::string Bucket::PathOf(std::string_view name) const {
  return name.empty() ? address_.Url() : fmt::format("s3://{}/{}", address_.bucket, KeyOf(name));
}

Status Bucket::Prepare() {
  if (prepared_) return {};
  if (auto names = List(""); !names) return std::unexpected(names.error());
  // Who may not list them can still write.
  unfinished_ = store_.Unfinished(address_.prefix).value_or(std::vector<UnfinishedUpload>());
  prepared_ = true;
  return {};
}

void Bucket::Clean(std::string_view name) {
  const std::string key = KeyOf(name);
  for (const UnfinishedUpload& upload : unfinished_) {
    if (upload.key != key) continue;
    const Status aborted = store_.Abort(upload);
    static_cast<void>(aborted);
  }
}

Result<std::vector<std::string>> Bucket::List(std::string_view folder) {
  return store_.List(folder.empty() ? address_.prefix : KeyOf(folder));
}

Result<std::optional<std::string>> Bucket::ReadSmall(std::string_view name) {
  MemorySink bytes;
  const auto there = store_.Read(KeyOf(name), bytes);
  if (!there) return std::unexpected(there.error());
  if (!*there) return std::nullopt;
  return bytes.bytes();
}

Result<std::optional<StoredFile>> Bucket::Look(std::string_view name) {
  auto object = store_.Head(KeyOf(name));
  if (!object) return std::unexpected(object.error());
  if (!*object) return std::nullopt;
  return StoredFile{(*object)->bytes, std::move((*object)->etag)};
}

Result<std::string> Bucket::HashOf(std::string_view name) {
  NullSink nowhere;
  HashingSink hashing(nowhere);
  const auto there = store_.Read(KeyOf(name), hashing);
  if (!there) return std::unexpected(there.error());
  if (!*there) return Fail(Error::Code::kNotFound, PathOf(name) + " went away meanwhile");
  return hashing.Hash();
}

Result<std::unique_ptr<ByteSource>> Bucket::Open(std::string_view name) {
  return store_.Open(KeyOf(name));
}

Result<std::unique_ptr<ByteSink>> Bucket::Create(std::string_view name) {
  return store_.Create(KeyOf(name));
}

}  // namespace reveza::datagen
