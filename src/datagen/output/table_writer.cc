#include "datagen/output/table_writer.h"

#include "datagen/output/arrow_writer.h"
#include "datagen/output/text_writer.h"

namespace reveza::datagen {

Result<std::unique_ptr<TableWriter>> MakeTableWriter(const TableOptions& options,
                                                     const Table& table, ByteSink& sink) {
  switch (options.format) {
    case Format::kJsonLines:
    case Format::kJson:
    case Format::kCsv:
    case Format::kTsv:
      return MakeTextWriter(options, table, sink);
    case Format::kParquet:
    case Format::kArrow:
      break;
  }
  return MakeArrowWriter(options, table, sink);
}

}  // namespace reveza::datagen
