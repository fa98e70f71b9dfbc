#include "phi/output/rows.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/nearest.h"
#include "phi/output/appended_file.h"
#include "phi/output/parquet_rows.h"
#include "platform/standard_output.h"

namespace reveza::phi {
namespace {

constexpr std::array kFormats = {RowFormat::kCsv, RowFormat::kJsonLines, RowFormat::kParquet};

class TextRows final : public RowWriter {
 public:
  TextRows(RowFormat format, const RowLayout& layout, AppendedFile file, const RowPlace& place)
      : format_(format), layout_(layout), file_(std::move(file)), place_(place) {}

  Status Append(const RowBlock& rows) override {
    std::string text;
    if (place_.rows == 0) text = HeadingOf(format_, layout_);
    AppendText(format_, layout_, rows, text);
    place_.rows += rows.run.size();
    return file_.Append(text);
  }

  Result<RowPlace> Settle() override {
    auto bytes = file_.Settle();
    if (!bytes) return std::unexpected(std::move(bytes).error());
    place_.bytes = *bytes;
    return place_;
  }

 private:
  RowFormat format_;
  RowLayout layout_;
  AppendedFile file_;
  RowPlace place_;
};

class StandardOutputRows final : public RowWriter {
 public:
  StandardOutputRows(RowFormat format, RowLayout layout)
      : format_(format), layout_(std::move(layout)) {}

  Status Append(const RowBlock& rows) override {
    std::string text;
    if (place_.rows == 0) text = HeadingOf(format_, layout_);
    AppendText(format_, layout_, rows, text);
    place_.rows += rows.run.size();
    place_.bytes += text.size();
    return platform::WriteStandardOutput(text);
  }

  Result<RowPlace> Settle() override {
    if (auto flushed = platform::FlushStandardOutput(); !flushed) {
      return std::unexpected(flushed.error());
    }
    return place_;
  }

 private:
  RowFormat format_;
  RowLayout layout_;
  RowPlace place_;
};

}  // namespace

void RowBlock::Clear() {
  run.clear();
  cycle.clear();
  hash.clear();
  states.clear();
  measures.clear();
}

std::string_view NameOf(RowFormat format) {
  switch (format) {
    case RowFormat::kCsv:
      return "csv";
    case RowFormat::kJsonLines:
      return "jsonl";
    case RowFormat::kParquet:
      return "parquet";
  }
  return "csv";
}

Result<RowFormat> RowFormatOf(std::string_view name) {
  std::array<std::string_view, kFormats.size()> names;
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    names[i] = NameOf(kFormats[i]);
    if (names[i] != name) continue;
    if (kFormats[i] == RowFormat::kParquet && !ParquetVersion()) {
      return Fail(Error::Code::kUnavailable,
                  "this build has no Arrow and writes no Parquet; take csv or jsonl");
    }
    return kFormats[i];
  }
  return Fail(Error::Code::kInvalidArgument,
              fmt::format("there is no format '{}'{}; take csv, jsonl or parquet", name,
                          DidYouMean(name, names)));
}

Result<std::unique_ptr<RowWriter>> OpenRows(const std::filesystem::path& folder, RowFormat format,
                                            const RowLayout& layout, const RowPlace& place) {
  if (format == RowFormat::kParquet) return OpenParquetRows(folder, layout, place);
  auto file = AppendedFile::Open(RowsPath(folder, format), place.bytes);
  if (!file) return std::unexpected(std::move(file).error());
  return std::make_unique<TextRows>(format, layout, std::move(*file), place);
}

std::unique_ptr<RowWriter> RowsOnStandardOutput(RowFormat format, const RowLayout& layout) {
  return std::make_unique<StandardOutputRows>(format, layout);
}

}  // namespace reveza::phi
