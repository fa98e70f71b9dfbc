#include "datagen/check/arrow_rows.h"

namespace reveza::datagen::check {

Result<std::unique_ptr<RowSource>> OpenArrowRows(std::unique_ptr<ByteSource>, const TableOptions&,
                                                 const Table&, const std::string& file,
                                                 ReadFaults&) {
  return Fail(Error::Code::kUnavailable,
              file +
                  ": this program was built without Arrow, so it reads no Parquet and no Arrow "
                  "files; build it again after tools/setup.sh");
}

}  // namespace reveza::datagen::check
