// Writes the same made-up rows in every format into a folder, for read_back_test.py to compare what
// other people's programs see in them.
//
//   datagen_output_samples FOLDER
#include <cstdio>
#include <filesystem>
#include <string>

#include "datagen/output/file_sink.h"
#include "datagen/output/format.h"
#include "datagen/output/testing_rows.h"

namespace reveza::datagen {
namespace {

constexpr uint64_t kRows = 5'000;

Status WriteFile(const std::filesystem::path& path, const TableOptions& options, const Table& table,
                 TestingTexts texts) {
  auto sink = FileSink::Create(path);
  if (!sink) return std::unexpected(sink.error());
  if (auto written = sink->Append(WriteTestingRows(options, table, kRows, 1'000, texts));
      !written) {
    return written;
  }
  return sink->Finish();
}

Status WriteAll(const std::filesystem::path& folder) {
  const auto write = [&](const std::string& name, TableOptions options, const Table& table,
                         TestingTexts texts) {
    options.row_group_rows = 2'000;
    options.created_by = "fraudgen version 0.1.0 (build test)";
    return WriteFile(folder / (name + "." + std::string(NameOf(options.format))), options, table,
                     texts);
  };
  for (const std::string_view name : FormatNames()) {
    const auto format = FormatOf(name);
    if (!format) return Fail(Error::Code::kInternal, "a format without a name of its own");
    const auto things = write("things", {.format = *format}, kTestingTable, TestingTexts::kAwkward);
    if (!things) return things;
    const auto transactions =
        write("transactions", {.format = *format}, kTransactions, TestingTexts::kPlain);
    if (!transactions) return transactions;
  }
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    for (const Money money : {Money::kDecimal, Money::kCents}) {
      const auto written =
          write("things_" + std::string(NameOf(money)), {.format = format, .money = money},
                kTestingTable, TestingTexts::kAwkward);
      if (!written) return written;
    }
    const auto nested = write("things_nested", {.format = format, .nested = true}, kTestingTable,
                              TestingTexts::kAwkward);
    if (!nested) return nested;
  }
  return {};
}

}  // namespace
}  // namespace reveza::datagen

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: datagen_output_samples FOLDER\n");
    return 2;
  }
  const auto written = reveza::datagen::WriteAll(words[1]);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written ? 0 : 1;
}
