#include "phi/series/series_table.h"

namespace reveza::phi {

Result<SeriesTable> ReadParquet(const std::string& path, const ReadOptions& /*options*/) {
  return Fail(Error::Code::kUnavailable,
              path +
                  ": this program was built without Arrow, so it reads no Parquet; build it again "
                  "after tools/setup.sh, or save the series as CSV");
}

}  // namespace reveza::phi
