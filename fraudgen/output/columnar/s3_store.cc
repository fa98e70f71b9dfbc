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
#include <utility>

#include "common/base/mutex.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/output/store_address.h"

namespace reveza::fraudgen {
namespace {

using Stream = std::shared_ptr<arrow::io::OutputStream>;

// Limit of S3.
constexpr uint64_t kMaxBytes = 10'000 * uint64_t{UploadLimits::kPartBytes};

// Retry strategy of requests. Thread-safe.
class S3Retries final : public arrow::fs::S3RetryStrategy {
 public:
  explicit S3Retries(RetryPolicy policy) : policy_(policy) {}

  bool ShouldRetry(const AWSErrorDetail& error, int64_t attempted_retries) override {
    if (!error.should_retry || given_up_) return false;
    const int tries = reachable_ ? policy_.max_attempts : policy_.max_initial_attempts;
    if (attempted_retries + 1 < tries) return true;
    given_up_ = reachable_.load();
    return false;
  }
  int64_t CalculateDelayBeforeNextRetry(const AWSErrorDetail&, int64_t attempted_retries) override {
    const auto doubled =
        policy_.initial_backoff * (int64_t{1} << std::min<int64_t>(attempted_retries, 20));
    return std::min(doubled, policy_.max_backoff).count();
  }

  // Called after the first response; allows max_attempts from now on.
  void MarkReachable() { reachable_ = true; }

 private:
  const RetryPolicy policy_;
  std::atomic<bool> reachable_ = false;
  // Once a request has failed finally, cleanup requests are not retried.
  std::atomic<bool> given_up_ = false;
};

// Streams that could not be aborted. Their destructor would complete the object, so they are kept
// until the library has shut down.
class Unaborted {
 public:
  void Keep(Stream stream) {
    const MutexLock lock(mutex_);
    streams_.push_back(std::move(stream));
  }
  // After the shutdown of the library, closing fails silently.
  void Clear() {
    const MutexLock lock(mutex_);
    for (const Stream& stream : streams_) {
      const arrow::Status closed = stream->Close();
      static_cast<void>(closed);
    }
    streams_.clear();
  }

 private:
  Mutex mutex_;
  std::vector<Stream> streams_ GUARDED_BY(mutex_);
};

std::string WhereOf(const StoreAddress& address) {
  if (address.endpoint.empty()) return "Amazon S3";
  return fmt::format("{}://{}", address.tls ? "https" : "http", address.endpoint);
}

bool SaysOneOf(const std::string& text, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* word) { return text.contains(word); });
}

// Translates Arrow's error into one line with advice.
Error ErrorOf(const StoreAddress& address, const char* what, const std::string& url,
              const arrow::Status& status) {
  std::string text = status.message();
  std::ranges::replace(text, '\n', ' ');
  const std::string where = WhereOf(address);
  if (SaysOneOf(text, {"NO_SUCH_BUCKET", "NoSuchBucket"})) {
    return {
        Error::Code::kNotFound,
        fmt::format("{} has no bucket '{}'; check the name or create it", where, address.bucket)};
  }
  if (SaysOneOf(text, {"SIGNATURE_DOES_NOT_MATCH", "SignatureDoesNotMatch", "INVALID_ACCESS_KEY_ID",
                       "InvalidAccessKeyId", "INVALID_CLIENT_TOKEN_ID", "UNRECOGNIZED_CLIENT",
                       "access key ID", "InvalidToken", "ExpiredToken"})) {
    return {
        Error::Code::kPermission,
        fmt::format("{} rejected the credentials; check --s3-access-key and --s3-secret-key, or "
                    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                    where)};
  }
  if (SaysOneOf(text, {"ACCESS_DENIED", "AccessDenied", "HTTP status 403"})) {
    return {Error::Code::kPermission,
            fmt::format("{} denied access to {} {}; the credentials need to list, read and write",
                        where, what, url)};
  }
  if (SaysOneOf(text, {"NETWORK_CONNECTION", "curlCode"})) {
    return {Error::Code::kUnavailable,
            fmt::format(
                "could not {} {}: {} does not respond; check --s3-endpoint and the network, then "
                "run the same command again ({})",
                what, url, where, text)};
  }
  return {Error::Code::kUnavailable, fmt::format("could not {} {}: {}", what, url, text)};
}

struct Connection {
  StoreAddress address;
  std::shared_ptr<arrow::fs::S3FileSystem> files;
  std::shared_ptr<S3Retries> retries;
  Unaborted* unaborted;

  // Returns BUCKET/PREFIX/NAME.
  std::string PathOf(std::string_view name) const {
    return fmt::format("{}{}{}{}{}", address.bucket, address.prefix.empty() ? "" : "/",
                       address.prefix, name.empty() ? "" : "/", name);
  }
  std::string UrlOf(std::string_view name) const { return "s3://" + PathOf(name); }
  std::unexpected<Error> Failed(const char* what, std::string_view name,
                                const arrow::Status& status) const {
    return std::unexpected(ErrorOf(address, what, UrlOf(name), status));
  }
};

Result<std::optional<StoredFile>> StatOf(const Connection& connection, std::string_view name) {
  auto file = connection.files->OpenInputFile(connection.PathOf(name));
  if (!file.ok()) {
    if (arrow::internal::ErrnoFromStatus(file.status()) == ENOENT) return std::nullopt;
    return connection.Failed("stat", name, file.status());
  }
  const auto size = (*file)->GetSize();
  if (!size.ok()) return connection.Failed("stat", name, size.status());
  const auto metadata = (*file)->ReadMetadata();
  if (!metadata.ok()) return connection.Failed("stat", name, metadata.status());
  StoredFile object{.bytes = static_cast<uint64_t>(*size), .etag = {}};
  if (*metadata) object.etag = (*metadata)->Get("ETag").ValueOr("");
  std::erase(object.etag, '"');
  return object;
}

// An upload. Append() sends parts on the calling thread.
class ObjectSink final : public ByteSink {
 public:
  ObjectSink(const Connection& connection, std::string_view name, Stream stream)
      : connection_(connection), name_(name), stream_(std::move(stream)) {}
  // The destructor of Arrow's stream would complete the object.
  ~ObjectSink() override {
    if (stream_ == nullptr || stream_->closed() || stream_->Abort().ok()) return;
    connection_.unaborted->Keep(std::move(stream_));
  }
  ObjectSink(const ObjectSink&) = delete;
  ObjectSink& operator=(const ObjectSink&) = delete;

  Status Append(std::string_view bytes) override {
    if (bytes_ + bytes.size() > kMaxBytes) {
      return Fail(Error::Code::kExhausted,
                  "{} would exceed the maximum object size of {} GB; reduce --file-rows",
                  connection_.UrlOf(name_), kMaxBytes / 1'000'000'000);
    }
    const auto written = stream_->Write(bytes.data(), static_cast<int64_t>(bytes.size()));
    if (!written.ok()) return connection_.Failed("write", name_, written);
    bytes_ += bytes.size();
    return {};
  }

  Status Finish() override {
    const auto closed = stream_->Close();
    if (closed.ok()) return {};
    // If the response to the completion was lost, the retry reports a missing upload: the object
    // exists already.
    if (bytes_ >= UploadLimits::kPartBytes) {
      const auto object = StatOf(connection_, name_);
      if (object && *object && (*object)->bytes == bytes_) return {};
    }
    return connection_.Failed("write", name_, closed);
  }

 private:
  const Connection& connection_;
  const std::string name_;
  Stream stream_;
  uint64_t bytes_ = 0;
};

// Sends a range request per read.
class ObjectSource final : public ByteSource {
 public:
  ObjectSource(const Connection& connection, std::string_view name,
               std::shared_ptr<arrow::io::RandomAccessFile> file, uint64_t size)
      : connection_(connection), name_(name), file_(std::move(file)), size_(size) {}

  uint64_t size() const override { return size_; }
  std::size_t step() const override { return std::size_t{1} << 20; }

  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override {
    const auto got =
        file_->ReadAt(static_cast<int64_t>(position), static_cast<int64_t>(to.size()), to.data());
    if (!got.ok()) return connection_.Failed("read", name_, got.status());
    return static_cast<std::size_t>(*got);
  }

 private:
  const Connection& connection_;
  const std::string name_;
  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const uint64_t size_;
};

class Bucket final : public Destination {
 public:
  explicit Bucket(Connection connection) : connection_(std::move(connection)) {}

  // Sends a request the first time only.
  Status Prepare() override {
    if (prepared_) return {};
    RETURN_IF_ERROR(List(""));
    prepared_ = true;
    return {};
  }

  Result<std::vector<std::string>> List(std::string_view folder) override {
    arrow::fs::FileSelector selector;
    selector.base_dir = connection_.PathOf(folder);
    selector.allow_not_found = true;
    const auto found = connection_.files->GetFileInfo(selector);
    if (!found.ok()) return connection_.Failed("list", folder, found.status());
    std::vector<std::string> names;
    for (const auto& info : *found) {
      if (info.type() == arrow::fs::FileType::File) names.push_back(info.base_name());
    }
    // No such prefix, or no such bucket.
    if (names.empty() && !bucket_seen_) {
      const auto bucket = connection_.files->GetFileInfo(connection_.address.bucket);
      if (!bucket.ok()) return connection_.Failed("list", folder, bucket.status());
      if (bucket->type() == arrow::fs::FileType::NotFound) {
        return connection_.Failed("list", folder, arrow::Status::IOError("NO_SUCH_BUCKET"));
      }
    }
    bucket_seen_ = true;
    connection_.retries->MarkReachable();
    return names;
  }

  Result<std::optional<StoredFile>> Stat(std::string_view name) override {
    return StatOf(connection_, name);
  }

  Result<std::unique_ptr<ByteSource>> Open(std::string_view name) override {
    auto file = connection_.files->OpenInputFile(connection_.PathOf(name));
    if (!file.ok()) {
      if (arrow::internal::ErrnoFromStatus(file.status()) != ENOENT) {
        return connection_.Failed("read", name, file.status());
      }
      return Fail(Error::Code::kNotFound, "{} does not exist", connection_.UrlOf(name));
    }
    const auto size = (*file)->GetSize();
    if (!size.ok()) return connection_.Failed("stat", name, size.status());
    return std::make_unique<ObjectSource>(connection_, name, *std::move(file),
                                          static_cast<uint64_t>(*size));
  }

  Result<std::unique_ptr<ByteSink>> Create(std::string_view name) override {
    auto stream = connection_.files->OpenOutputStream(connection_.PathOf(name), nullptr);
    if (!stream.ok()) return connection_.Failed("write", name, stream.status());
    return std::make_unique<QueuedSink>(
        std::make_unique<ObjectSink>(connection_, name, *std::move(stream)),
        UploadLimits::kPieceBytes, UploadLimits::kPieces, budget_);
  }

  // Does nothing: unfinished uploads are not objects; the bucket's lifecycle rule removes them.
  void RemovePartial(std::string_view) override {}
  // Finishing a file takes at least four sequential requests; small files need not wait for a large
  // one.
  std::size_t FinishConcurrency(std::size_t threads) const override {
    return std::max<std::size_t>(2, threads);
  }
  std::string PathOf(std::string_view name) const override { return connection_.UrlOf(name); }

 private:
  const Connection connection_;
  bool prepared_ = false;
  std::atomic<bool> bucket_seen_ = false;
  const std::shared_ptr<PartBudget> budget_ =
      std::make_shared<PartBudget>(UploadLimits::MaxTotalPieces());
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

  Result<std::unique_ptr<Destination>> Connect(const StoreAddress& address,
                                               RetryPolicy policy) override {
    auto retries = std::make_shared<S3Retries>(policy);
    auto options = address.access_key.empty()
                       ? arrow::fs::S3Options::Defaults()
                       : arrow::fs::S3Options::FromAccessKey(address.access_key, address.secret_key,
                                                             address.session_token);
    options.endpoint_override = address.endpoint;
    options.scheme = address.tls ? "https" : "http";
    options.region = address.region;
    options.retry_strategy = retries;
    options.background_writes = false;  // unbounded; QueuedSink is bounded
    options.allow_delayed_open = true;  // small objects take one request
    options.connect_timeout = 5;
    options.request_timeout = static_cast<double>(policy.stall_timeout.count());
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
    return std::make_unique<Bucket>(
        Connection{address, *std::move(files), std::move(retries), &unaborted_});
  }

 private:
  Unaborted unaborted_;
};

}  // namespace

Result<std::unique_ptr<StoreSession>> BeginS3Session(const StoreAddress& address) {
  if (!address.profile.empty()) setenv("AWS_PROFILE", address.profile.c_str(), 1);
  // With explicit keys, the instance metadata service is not needed.
  if (!address.access_key.empty()) setenv("AWS_EC2_METADATA_DISABLED", "true", 0);
  // Not all stores support the checksums that Amazon introduced in 2025.
  setenv("AWS_REQUEST_CHECKSUM_CALCULATION", "when_required", 0);
  setenv("AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required", 0);
  arrow::fs::S3GlobalOptions options = arrow::fs::S3GlobalOptions::Defaults();
  options.log_level = arrow::fs::S3LogLevel::Off;
  options.install_sigpipe_handler = true;
  if (const auto begun = arrow::fs::InitializeS3(options); !begun.ok()) {
    return Fail(Error::Code::kInternal, "could not initialise S3: " + begun.ToString());
  }
  return std::make_unique<S3Session>();
}

}  // namespace reveza::fraudgen
