// Plans a data set of many files, and plays what its shards do with their manifests in a bucket
// that keeps no data: prints time, memory and requests. Writes nothing.
//
//   fraud_manifests ROWS FORMAT SHARDS
//
// Time is that of one processor without the latency of requests.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fraudgen/output/destination.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/run/block_files.h"
#include "fraudgen/run/manifest_store.h"
#include "fraudgen/run/prepare.h"

namespace {

using namespace reveza;            // NOLINT: the whole file is about it
using namespace reveza::fraudgen;  // NOLINT

constexpr uint64_t kNamesPerList = 1'000;  // of S3's ListObjectsV2
constexpr uint64_t kFileRows = 131'072;
constexpr uint64_t kFileBytes = 128'000'000;
constexpr const char* kTag = "0123456789abcdef0123456789abcdef-13";

struct Requests {
  uint64_t lists = 0, heads = 0, gets = 0, puts = 0;
};

// A file without its bytes, and the text of its manifest, which is made when it is read.
class Bucket final : public Destination {
 public:
  explicit Bucket(MadeBy made_by) : made_by_(std::move(made_by)) {}

  Requests TakeRequests() { return std::exchange(requests_, {}); }
  uint64_t manifest_bytes() const { return manifest_bytes_; }

  enum class Manifest { kNo, kYes };
  // Adds a file, as another machine does, or as an upload does.
  void Add(const PlannedFile& planned, Manifest manifest) {
    files_.insert_or_assign(ManifestNameOf(planned.name),
                            File{.name = planned.name,
                                 .table = planned.table,
                                 .block = planned.block,
                                 .part = planned.part,
                                 .has_manifest = manifest == Manifest::kYes});
  }

  Status Prepare() override { return {}; }
  Result<std::vector<std::string>> List(std::string_view folder) override {
    std::vector<std::string> names;
    for (const auto& [name, file] : files_) {
      if (folder == kMetadataFolder && file.has_manifest) {
        names.push_back(name.substr(folder.size() + 1));
      }
    }
    requests_.lists += names.size() / kNamesPerList + 1;
    return names;
  }
  Result<std::optional<StoredFile>> Stat(std::string_view name) override {
    ++requests_.heads;
    if (!files_.contains(ManifestNameOf(name))) return std::nullopt;
    return StoredFile{.bytes = kFileBytes, .etag = kTag};
  }
  Result<std::unique_ptr<ByteSource>> Open(std::string_view name) override {
    ++requests_.gets;
    const auto file = files_.find(std::string(name));
    if (file == files_.end() || !file->second.has_manifest) {
      return Fail(Error::Code::kNotFound, "{} does not exist", name);
    }
    return std::make_unique<Text>(TextOf(file->second));
  }
  void RemovePartial(std::string_view) override {}
  Result<std::unique_ptr<ByteSink>> Create(std::string_view name) override {
    ++requests_.puts;
    if (name == kManifestName) return std::make_unique<Counter>(manifest_bytes_);
    if (const auto file = files_.find(std::string(name)); file != files_.end()) {
      file->second.has_manifest = true;
    }
    return std::make_unique<NullSink>();
  }
  std::size_t FinishConcurrency(std::size_t threads) const override { return threads; }
  std::string PathOf(std::string_view name) const override { return std::string(name); }

 private:
  struct File {
    std::string name;
    const Table* table;
    uint64_t block;
    uint64_t part;
    bool has_manifest;
  };

  class Text final : public ByteSource {
   public:
    explicit Text(std::string text) : text_(std::move(text)) {}
    uint64_t size() const override { return text_.size(); }
    std::size_t step() const override { return text_.size(); }
    Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override {
      return text_.copy(to.data(), to.size(), position);
    }

   private:
    std::string text_;
  };

  class Counter final : public ByteSink {
   public:
    explicit Counter(uint64_t& bytes) : bytes_(&bytes) {}
    Status Append(std::string_view bytes) override {
      *bytes_ += bytes.size();
      return {};
    }
    Status Finish() override { return {}; }

   private:
    uint64_t* bytes_;
  };

  std::string TextOf(const File& file) const {
    return WriteFileManifest({.file = file.name,
                              .table = std::string(file.table->name),
                              .block = file.block,
                              .part = file.part,
                              .rows = kFileRows,
                              .bytes = kFileBytes,
                              .xxh3_128 = fraudgen::HashOf(file.name),
                              .etag = kTag,
                              .made_by = made_by_});
  }

  const MadeBy made_by_;
  Requests requests_;
  std::unordered_map<std::string, File> files_;  // by the name of the manifest
  uint64_t manifest_bytes_ = 0;
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns a field of /proc/self/status in MB.
double Megabytes(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size() + 1)) * 1024 / 1e6;
  }
  return 0;
}

// Prints what happened since its construction.
class Section {
 public:
  Section(std::string what, Bucket& bucket) : what_(std::move(what)), bucket_(&bucket) {
    bucket_->TakeRequests();
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins again
    begin_memory_ = Megabytes("VmRSS:");
    begin_ = Seconds();
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  ~Section() {
    const double seconds = Seconds() - begin_;
    const Requests requests = bucket_->TakeRequests();
    fmt::print("{:44} {:8.2f} s  {:+9.0f} MB  list {:>7} head {:>7} get {:>8} put {:>7}\n", what_,
               seconds, Megabytes("VmHWM:") - begin_memory_, requests.lists, requests.heads,
               requests.gets, requests.puts);
    std::fflush(stdout);
  }

 private:
  std::string what_;
  Bucket* bucket_;
  double begin_memory_ = 0;
  double begin_ = 0;
};

int Fails(const Error& error) {
  fmt::print(stderr, "fraud_manifests: {}\n", error.message);
  return 1;
}

// What a shard does with the manifests of its files, without making rows.
Status Play(const Plan& plan, Bucket& bucket, ManifestStore& store) {
  RETURN_IF_ERROR(store.Open(plan));
  for (uint64_t n = 0; n < plan.shard().blocks(); ++n) {
    for (const PlannedFile& planned : plan.FilesOf(plan.shard().BlockAt(n))) {
      ASSIGN_OR_RETURN(const auto found, store.Find(planned));
      if (found) continue;
      bucket.Add(planned, Bucket::Manifest::kNo);
      RETURN_IF_ERROR(store.Commit({.planned = planned,
                                    .rows = kFileRows,
                                    .bytes = kFileBytes,
                                    .hash = HashOf(planned.name),
                                    .rows_of_blocks = {},
                                    .sink = nullptr}));
    }
  }
  return {};
}

int Main(const char* rows, const char* format, uint64_t shards) {
  SettingsBuilder builder;
  for (const auto& [key, value] : {std::pair{"rows", rows}, std::pair{"format", format}}) {
    if (auto added = builder.AddFlag(key, value); !added) return Fails(added.error());
  }
  const auto settings = builder.Build();
  if (!settings) return Fails(settings.error());
  const auto prepare = [&](uint64_t index) {
    return PrepareRun(*settings, {.index = index, .count = shards}, 1,
                      [](uint64_t, uint64_t) { return true; });
  };
  Bucket none({});
  std::optional<Section> section;
  section.emplace("plan of all files, in each shard", none);
  const auto first = prepare(1);
  if (!first) return Fails(first.error());
  section.reset();
  const Plan& plan = first->plan;
  fmt::print("{} rows as {}: {} blocks, {} files; {} shards, {} files in the first\n", rows, format,
             plan.all_blocks(), plan.all_files(), shards, plan.files());
  const RunOptions options = first->Options(1);
  Bucket bucket(options.made_by);
  {
    ManifestStore store(bucket, options.made_by, options.configuration);
    section.emplace("first shard: its manifests", bucket);
    if (auto played = Play(plan, bucket, store); !played) return Fails(played.error());
    section.emplace("first shard: is the data set complete?", bucket);
    if (auto all = store.CommitAll(plan); !all) return Fails(all.error());
    section.reset();
  }
  const auto last = prepare(shards);
  if (!last) return Fails(last.error());
  for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block))
      bucket.Add(planned, Bucket::Manifest::kYes);
  }
  fmt::print("the other shards add their files: the bucket takes {:.0f} MB here\n",
             Megabytes("VmRSS:"));
  ManifestStore store(bucket, options.made_by, options.configuration);
  section.emplace("last shard: finds what is there", bucket);
  if (auto opened = store.Open(last->plan); !opened) return Fails(opened.error());
  section.emplace("last shard: manifest.json", bucket);
  const auto complete = store.CommitAll(last->plan);
  section.reset();
  if (!complete) return Fails(complete.error());
  fmt::print("complete: {}; manifest.json has {:.0f} MB\n", *complete,
             static_cast<double>(bucket.manifest_bytes()) / 1e6);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    fmt::print(stderr, "usage: fraud_manifests ROWS FORMAT SHARDS\n");
    return 2;
  }
  return Main(words[1], words[2], std::stoull(words[3]));
}
