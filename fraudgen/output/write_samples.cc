// Writes the same synthetic rows in every format to a folder, for read_back_test.py.
//
//   fraudgen_output_samples FOLDER
#include <cstdio>
#include <filesystem>
#include <string>

#include "fraudgen/output/sinks.h"
#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/testing_rows.h"

namespace reveza::fraudgen {
namespace {

constexpr uint64_t kRows = 5'000;

Status WriteFile(const std::filesystem::path& path, const TableOptions& options, const Table& table,
                 TestingTexts texts) {
  ASSIGN_OR_RETURN(auto sink, FileSink::Create(path));
  RETURN_IF_ERROR(sink.Append(WriteTestingRows(options, table, kRows, 1'000, texts)));
  return sink.Finish();
}

Status WriteAll(const std::filesystem::path& folder) {
  const auto write = [&](const std::string& name, TableOptions options, const Table& table,
                         TestingTexts texts) {
    options.row_group_rows = 2'000;
    options.created_by = "fraudgen version 0.1.0 (build test)";
    return WriteFile(folder / (name + "." + std::string(NameOf(options.format))), options, table,
                     texts);
  };
  for (std::size_t i = 0; i < kFormatNames.size(); ++i) {
    const auto format = static_cast<Format>(i);
    RETURN_IF_ERROR(write("things", {.format = format}, kTestingTable, TestingTexts::kAwkward));
    RETURN_IF_ERROR(write("transactions", {.format = format}, kTransactions, TestingTexts::kPlain));
  }
  for (const Format format : {Format::kParquet, Format::kArrow}) {
    for (const Money money : {Money::kDecimal, Money::kCents}) {
      RETURN_IF_ERROR(write("things_" + std::string(NameOf(money)),
                            {.format = format, .money = money}, kTestingTable,
                            TestingTexts::kAwkward));
    }
    RETURN_IF_ERROR(write("things_nested", {.format = format, .nested = true}, kTestingTable,
                          TestingTexts::kAwkward));
  }
  return {};
}

}  // namespace
}  // namespace reveza::fraudgen

int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fraudgen_output_samples FOLDER\n");
    return 2;
  }
  const auto written = reveza::fraudgen::WriteAll(words[1]);
  if (!written) std::fprintf(stderr, "%s\n", written.error().message.c_str());
  return written ? 0 : 1;
}
