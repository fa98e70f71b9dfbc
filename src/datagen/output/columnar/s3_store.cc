#include <arrow/buffer.h>
#include <arrow/filesystem/s3fs.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/util/io_util.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "datagen/output/columnar/s3_retries.h"
#include "datagen/output/object_store.h"
#include "datagen/output/queued_sink.h"

namespace reveza::datagen {
namespace {

using Stream = std::shared_ptr<arrow::io::OutputStream>;

constexpr int64_t kReadAtATime = int64_t{4} << 20;
// No store takes more parts of an object.
constexpr uint64_t kMostBytes = 10'000 * uint64_t{ObjectStore::kPartBytes};

// Streams that could not be aborted. Their destructor would make an object of what they have, so
// they are kept until nothing can be sent any more.
class Unaborted {
 public:
  void Keep(Stream stream) {
    const std::scoped_lock lock(mutex_);
    streams_.push_back(std::move(stream));
  }
  // Once the library has ended: closing fails at once, and quietly.
  void Clear() {
    for (const Stream& stream : streams_) {
      const arrow::Status closed = stream->Close();
      static_cast<void>(closed);
    }
    streams_.clear();
  }

 private:
  std::mutex mutex_;
  std::vector<Stream> streams_;
};

std::string WhereOf(const StoreAddress& address) {
  if (address.endpoint.empty()) return "Amazon S3";
  return fmt::format("{}://{}", address.tls ? "https" : "http", address.endpoint);
}

bool SaysOneOf(const std::string& text, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return text.contains(word); });
}

// Arrow's words for a person: what is wrong and what would be right, on one line.
Error ErrorOf(const StoreAddress& address, const char* what, const std::string& url,
              const arrow::Status& status) {
  std::string text = status.message();
  std::ranges::replace(text, '\n', ' ');
  const std::string where = WhereOf(address);
  if (SaysOneOf(text, {"NO_SUCH_BUCKET", "NoSuchBucket"})) {
    return {Error::Code::kNotFound,
            fmt::format("{} has no bucket '{}'; check its name, or make it first", where,
                        address.bucket)};
  }
  if (SaysOneOf(text, {"SIGNATURE_DOES_NOT_MATCH", "SignatureDoesNotMatch", "INVALID_ACCESS_KEY_ID",
                       "InvalidAccessKeyId", "INVALID_CLIENT_TOKEN_ID", "UNRECOGNIZED_CLIENT",
                       "access key ID", "InvalidToken", "ExpiredToken"})) {
    return {Error::Code::kPermission,
            fmt::format("{} does not know these keys; check --s3-access-key and --s3-secret-key, "
                        "or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                        where)};
  }
  if (SaysOneOf(text, {"ACCESS_DENIED", "AccessDenied", "HTTP status 403"})) {
    return {Error::Code::kPermission,
            fmt::format("{} does not let these keys {} {}; name a bucket that they may list, read "
                        "and write, or give other keys",
                        where, what, url)};
  }
  if (SaysOneOf(text, {"NETWORK_CONNECTION", "curlCode"})) {
    return {Error::Code::kUnavailable,
            fmt::format("could not {} {}: {} does not answer; check --s3-endpoint and the network, "
                        "then the same command again ({})",
                        what, url, where, text)};
  }
  return {Error::Code::kUnavailable, fmt::format("could not {} {}: {}", what, url, text)};
}

struct Connection {
  StoreAddress address;
  std::shared_ptr<arrow::fs::S3FileSystem> files;
  std::shared_ptr<S3Retries> retries;
  Unaborted* unaborted;

  std::string PathOf(std::string_view key) const {
    return fmt::format("{}/{}", address.bucket, key);
  }
  std::unexpected<Error> Failed(const char* what, std::string_view key,
                                const arrow::Status& status) const {
    return std::unexpected(ErrorOf(address, what, fmt::format("s3://{}", PathOf(key)), status));
  }
};

Result<std::optional<StoredObject>> HeadOf(const Connection& connection, std::string_view key) {
  auto file = connection.files->OpenInputFile(connection.PathOf(key));
  if (!file.ok()) {
    if (arrow::internal::ErrnoFromStatus(file.status()) == ENOENT) return std::nullopt;
    return connection.Failed("look at", key, file.status());
  }
  const auto size = (*file)->GetSize();
  if (!size.ok()) return connection.Failed("look at", key, size.status());
  const auto metadata = (*file)->ReadMetadata();
  if (!metadata.ok()) return connection.Failed("look at", key, metadata.status());
  StoredObject object{.bytes = static_cast<uint64_t>(*size), .etag = {}};
  if (*metadata) object.etag = (*metadata)->Get("ETag").ValueOr("");
  std::erase(object.etag, '"');
  return object;
}

// One object in the making. Parts are sent by whoever appends.
class ObjectSink final : public ByteSink {
 public:
  ObjectSink(const Connection& connection, std::string_view key, Stream stream)
      : connection_(connection), key_(key), stream_(std::move(stream)) {}
  // Arrow's stream would be whole if it were only let go.
  ~ObjectSink() override {
    if (stream_ == nullptr || stream_->closed() || stream_->Abort().ok()) return;
    connection_.unaborted->Keep(std::move(stream_));
  }
  ObjectSink(const ObjectSink&) = delete;
  ObjectSink& operator=(const ObjectSink&) = delete;

  Status Append(std::string_view bytes) override {
    if (bytes_ + bytes.size() > kMostBytes) {
      return Fail(
          Error::Code::kExhausted,
          fmt::format("s3://{} would be larger than the {} GB that an object may have; take "
                      "fewer rows of a file (--file-rows)",
                      connection_.PathOf(key_), kMostBytes / 1'000'000'000));
    }
    const auto written = stream_->Write(bytes.data(), static_cast<int64_t>(bytes.size()));
    if (!written.ok()) return connection_.Failed("write", key_, written);
    bytes_ += bytes.size();
    return {};
  }

  Status Finish() override {
    const auto closed = stream_->Close();
    if (closed.ok()) return {};
    // Where the answer to the last request of several was lost, asking again says that there is no
    // such upload any more: because it is an object now.
    if (bytes_ >= ObjectStore::kPartBytes) {
      const auto object = HeadOf(connection_, key_);
      if (object && *object && (*object)->bytes == bytes_) return {};
    }
    return connection_.Failed("write", key_, closed);
  }

 private:
  const Connection& connection_;
  const std::string key_;
  Stream stream_;
  uint64_t bytes_ = 0;
};

// A request for each piece that is read.
class ObjectSource final : public ByteSource {
 public:
  ObjectSource(const Connection& connection, std::string_view key,
               std::shared_ptr<arrow::io::RandomAccessFile> file, uint64_t size)
      : connection_(connection), key_(key), file_(std::move(file)), size_(size) {}

  uint64_t size() const override { return size_; }
  std::size_t step() const override { return std::size_t{1} << 20; }

  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override {
    const auto got =
        file_->ReadAt(static_cast<int64_t>(position), static_cast<int64_t>(to.size()), to.data());
    if (!got.ok()) return connection_.Failed("read", key_, got.status());
    return static_cast<std::size_t>(*got);
  }

 private:
  const Connection& connection_;
  const std::string key_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const uint64_t size_;
};

class S3Store final : public ObjectStore {
 public:
  explicit S3Store(Connection connection) : connection_(std::move(connection)) {}

  Result<std::vector<std::string>> List(std::string_view prefix) override {
    arrow::fs::FileSelector selector;
    selector.base_dir = prefix.empty() ? connection_.address.bucket : connection_.PathOf(prefix);
    selector.allow_not_found = true;
    const auto found = connection_.files->GetFileInfo(selector);
    if (!found.ok()) return connection_.Failed("list", prefix, found.status());
    std::vector<std::string> names;
    for (const auto& info : *found) {
      if (info.type() == arrow::fs::FileType::File) names.push_back(info.base_name());
    }
    // Nothing there: or not even a bucket.
    if (names.empty() && !bucket_seen_) {
      const auto bucket = connection_.files->GetFileInfo(connection_.address.bucket);
      if (!bucket.ok()) return connection_.Failed("list", prefix, bucket.status());
      if (bucket->type() == arrow::fs::FileType::NotFound) {
        return connection_.Failed("list", prefix, arrow::Status::IOError("NO_SUCH_BUCKET"));
      }
    }
    bucket_seen_ = true;
    connection_.retries->Answered();
    return names;
  }

  Result<std::optional<StoredObject>> Head(std::string_view key) override {
    return HeadOf(connection_, key);
  }

  Result<bool> Read(std::string_view key, ByteSink& to) override {
    auto file = connection_.files->OpenInputFile(connection_.PathOf(key));
    if (!file.ok()) {
      if (arrow::internal::ErrnoFromStatus(file.status()) == ENOENT) return false;
      return connection_.Failed("read", key, file.status());
    }
    for (int64_t position = 0;;) {
      const auto piece = (*file)->ReadAt(position, kReadAtATime);
      if (!piece.ok()) return connection_.Failed("read", key, piece.status());
      if ((*piece)->size() == 0) return true;
      position += (*piece)->size();
      if (auto taken = to.Append(std::string_view(**piece)); !taken) {
        return std::unexpected(taken.error());
      }
    }
  }

  Result<std::unique_ptr<ByteSource>> Open(std::string_view key) override {
    auto file = connection_.files->OpenInputFile(connection_.PathOf(key));
    if (!file.ok()) {
      if (arrow::internal::ErrnoFromStatus(file.status()) != ENOENT) {
        return connection_.Failed("read", key, file.status());
      }
      return Fail(Error::Code::kNotFound,
                  fmt::format("s3://{} is not there", connection_.PathOf(key)));
    }
    const auto size = (*file)->GetSize();
    if (!size.ok()) return connection_.Failed("look at", key, size.status());
    return std::make_unique<ObjectSource>(connection_, key, *std::move(file),
                                          static_cast<uint64_t>(*size));
  }

  Result<std::unique_ptr<ByteSink>> Create(std::string_view key) override {
    auto stream = connection_.files->OpenOutputStream(connection_.PathOf(key), nullptr);
    if (!stream.ok()) return connection_.Failed("write", key, stream.status());
    return std::make_unique<QueuedSink>(
        std::make_unique<ObjectSink>(connection_, key, *std::move(stream)), kPieceBytes, kPieces,
        budget_);
  }

  // Arrow has no call for these two.
  Result<std::vector<UnfinishedUpload>> Unfinished(std::string_view prefix) override {
    return ListUnfinished(Server(), fmt::format("{}{}", prefix, prefix.empty() ? "" : "/"));
  }

  Status Abort(const UnfinishedUpload& upload) override {
    return AbortUnfinished(Server(), upload);
  }

 private:
  // Keys of a role change, so they are asked for each time.
  StoreServer Server() const {
    const arrow::fs::S3Options& options = connection_.files->options();
    return {.host = options.endpoint_override.empty()
                        ? fmt::format("s3.{}.amazonaws.com", options.region)
                        : options.endpoint_override,
            .tls = options.scheme == "https",
            .region = options.region,
            .bucket = connection_.address.bucket,
            .keys = {.access_key = options.GetAccessKey(),
                     .secret_key = options.GetSecretKey(),
                     .session_token = options.GetSessionToken()}};
  }

  const Connection connection_;
  std::atomic<bool> bucket_seen_ = false;
  const std::shared_ptr<PartBudget> budget_ = std::make_shared<PartBudget>(PiecesInAll());
};

class S3Session final : public StoreSession {
 public:
  S3Session() = default;
  ~S3Session() override {
    const arrow::Status ended = arrow::fs::FinalizeS3();
    static_cast<void>(ended);
    unaborted_.Clear();
  }
  S3Session(const S3Session&) = delete;
  S3Session& operator=(const S3Session&) = delete;

  Result<std::unique_ptr<ObjectStore>> Connect(const StoreAddress& address,
                                               StorePatience patience) override {
    auto retries = std::make_shared<S3Retries>(patience);
    auto options = address.access_key.empty()
                       ? arrow::fs::S3Options::Defaults()
                       : arrow::fs::S3Options::FromAccessKey(address.access_key, address.secret_key,
                                                             address.session_token);
    options.endpoint_override = address.endpoint;
    options.scheme = address.tls ? "https" : "http";
    options.region = address.region;
    options.retry_strategy = retries;
    options.background_writes = false;  // it has no bound: QueuedSink has
    options.allow_delayed_open = true;  // what is small is one request
    options.connect_timeout = 5;
    options.request_timeout = static_cast<double>(patience.silence.count());
    if (options.region.empty()) {
      auto region = arrow::fs::ResolveS3BucketRegion(address.bucket);
      if (!region.ok()) {
        return std::unexpected(ErrorOf(address, "find", address.Url(), region.status()));
      }
      options.region = *std::move(region);
    }
    auto files = arrow::fs::S3FileSystem::Make(options);
    if (!files.ok()) {
      return std::unexpected(ErrorOf(address, "reach", address.Url(), files.status()));
    }
    return std::make_unique<S3Store>(
        Connection{address, *std::move(files), std::move(retries), &unaborted_});
  }

 private:
  Unaborted unaborted_;
};

}  // namespace

Result<std::unique_ptr<StoreSession>> StoreSession::Begin(const StoreAddress& address) {
  if (!address.profile.empty()) setenv("AWS_PROFILE", address.profile.c_str(), 1);
  // With keys there is nothing to ask the machine for, and no waiting where nobody answers.
  if (!address.access_key.empty()) setenv("AWS_EC2_METADATA_DISABLED", "true", 0);
  // Not every store knows the check sums that Amazon's has since 2025.
  setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required", 0);
  setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required", 0);
  arrow::fs::S3GlobalOptions options = arrow::fs::S3GlobalOptions::Defaults();
  options.log_level = arrow::fs::S3LogLevel::Off;
  options.install_sigpipe_handler = true;
  if (const auto begun = arrow::fs::InitializeS3(options); !begun.ok()) {
    return Fail(Error::Code::kInternal, "could not begin to use S3: " + begun.ToString());
  }
  return std::make_unique<S3Session>();
}

}  // namespace reveza::datagen
