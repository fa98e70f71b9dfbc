#include "datagen/check/row_source.h"

#include "datagen/check/arrow_rows.h"
#include "datagen/check/text_rows.h"

namespace reveza::datagen::check {

Result<std::unique_ptr<RowSource>> OpenRows(const std::filesystem::path& path,
                                            const TableOptions& options, const Table& table,
                                            const std::string& file, ReadFaults& faults) {
  switch (options.format) {
    case Format::kJsonLines:
    case Format::kJson:
      return OpenJsonRows(path, table, file, faults);
    case Format::kCsv:
      return OpenSeparatedRows(path, ',', table, file, faults);
    case Format::kTsv:
      return OpenSeparatedRows(path, '\t', table, file, faults);
    case Format::kParquet:
    case Format::kArrow:
      return OpenArrowRows(path, options, table, file, faults);
  }
  return Fail(Error::Code::kInternal, "a format that is not known");
}

}  // namespace reveza::datagen::check
