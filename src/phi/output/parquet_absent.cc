// A build without Arrow: RowFormatOf refuses Parquet before this is asked for.
#include "phi/output/parquet_rows.h"

namespace reveza::phi {

std::optional<std::string> ParquetVersion() { return std::nullopt; }

Result<std::unique_ptr<RowWriter>> OpenParquetRows(const std::filesystem::path& /*folder*/,
                                                   const RowLayout& /*layout*/,
                                                   const RowPlace& /*place*/) {
  return Fail(Error::Code::kUnavailable,
              "this build has no Arrow and writes no Parquet; take csv or jsonl");
}

}  // namespace reveza::phi
