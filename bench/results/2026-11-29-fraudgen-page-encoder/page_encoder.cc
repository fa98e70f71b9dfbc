// Compares two writers of Parquet files on the same rows in memory, in turns, by processor time.
#include <arrow/io/memory.h>
#include <arrow/util/compression.h>
#include <fmt/format.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#ifdef OWN_ZSTD
#include <zstd.h>
#endif
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/columnar/arrow_columns.h"
#include "fraudgen/output/columnar/arrow_sink.h"
#include "fraudgen/output/columnar/group_dictionary.h"
#include "fraudgen/output/table_writer.h"

using namespace reveza;
using namespace reveza::fraudgen;
namespace {
constexpr uint64_t kRows = 524'288;
double Now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
class CountingSink final : public ByteSink {
 public:
  Status Append(std::string_view bytes) override {
    bytes_ += bytes.size();
    return {};
  }
  Status Finish() override { return {}; }
  uint64_t bytes_ = 0;
};
std::deque<Batch> Rows(const Model* model, const Table& table) {
  std::deque<Batch> batches;
  FunctionSink kept([&](const Batch& batch) {
    batches.push_back(batch);
    return Status();
  });
  const Table* const wanted[] = {&table};
  if (!model->Make(0, wanted, kept)) abort();
  return batches;
}
using Maker = std::function<Result<std::unique_ptr<TableWriter>>(const TableOptions&, const Table&,
                                                                 ByteSink&)>;
void Write(const std::deque<Batch>& batches, const TableOptions& options, const Maker& make,
           ByteSink& sink) {
  auto writer = make(options, batches.front().table(), sink);
  if (!writer) {
    fmt::print("{}\n", writer.error().message);
    abort();
  }
  for (const auto& batch : batches)
    if (auto s = (*writer)->Write(batch); !s) {
      fmt::print("{}\n", s.error().message);
      abort();
    }
  if (auto s = (*writer)->Finish(); !s) {
    fmt::print("{}\n", s.error().message);
    abort();
  }
}
struct Case {
  std::string name;
  std::function<void()> run;
  std::vector<double> times;
};
}  // namespace
int main(int argc, char** argv) {
  const int runs = argc > 1 ? atoi(argv[1]) : 7;
  const std::string folder = argc > 2 ? argv[2] : "";
  for (const std::string name : {"classic", "coherent"}) {
    std::deque<Batch> batches;
    if (name == "classic") {
      classic::Options o;
      o.seed = 1;
      o.transactions = kRows;
      o.start = {.year = 2025, .month = 1, .day = 1};
      o.end = {.year = 2025, .month = 12, .day = 31};
      o.as_of = {.year = 2026, .month = 1, .day = 1};
      batches = Rows(classic::ClassicModel::Make(o).get(), kTransactions);
    } else {
      coherent::Parameters p;
      p.seed = 1;
      p.rows = kRows;
      auto m = coherent::CoherentModel::Make(p);
      batches = Rows(m->get(), coherent::kTransactions);
    }
    double rows = 0;
    for (const auto& b : batches) rows += static_cast<double>(b.rows());
    const TableOptions zstd{.format = Format::kParquet};
    const TableOptions none{.format = Format::kParquet, .codec = Codec::kNone};
    MemorySink arrow_file, own_file;
    Write(batches, zstd, MakeParquetWriter, arrow_file);
    Write(batches, zstd, MakePageWriter, own_file);
    if (!folder.empty()) {
      std::ofstream(folder + "/" + name + "-arrow.parquet", std::ios::binary) << arrow_file.bytes();
      std::ofstream(folder + "/" + name + "-own.parquet", std::ios::binary) << own_file.bytes();
    }
    fmt::print("{}: {} rows, Arrow {:.2f} B/row, own {:.2f} B/row\n", name, rows,
               arrow_file.bytes().size() / rows, own_file.bytes().size() / rows);
    // pages
    std::vector<std::shared_ptr<arrow::Buffer>> pages;
    double raw = 0;
    {
      auto reader = parquet::ParquetFileReader::Open(
          std::make_shared<arrow::io::BufferReader>(arrow::Buffer::FromString(arrow_file.bytes())));
      for (int g = 0; g < reader->metadata()->num_row_groups(); ++g)
        for (int c = 0; c < reader->metadata()->num_columns(); ++c) {
          if (reader->metadata()->RowGroup(g)->ColumnChunk(c)->compression() !=
              parquet::Compression::ZSTD)
            continue;
          auto pr = reader->RowGroup(g)->GetColumnPageReader(c);
          while (auto page = pr->NextPage()) {
            pages.push_back(arrow::Buffer::FromString(std::string(
                reinterpret_cast<const char*>(page->data()), static_cast<size_t>(page->size()))));
            raw += static_cast<double>(page->size());
          }
        }
    }
    fmt::print("  pages to compress: {} of {:.1f} B/row\n", pages.size(), raw / rows);
    auto codec = *arrow::util::Codec::Create(arrow::Compression::ZSTD, 1);
    std::vector<uint8_t> out(1 << 24);
    ArrowLayout layout(zstd, batches.front().table());
    std::vector<Case> cases;
    cases.push_back({"Arrow's writer",
                     [&] {
                       CountingSink s;
                       Write(batches, zstd, MakeParquetWriter, s);
                     },
                     {}});
    cases.push_back({"own pages",
                     [&] {
                       CountingSink s;
                       Write(batches, zstd, MakePageWriter, s);
                     },
                     {}});
    cases.push_back({"Arrow's writer, not compressed",
                     [&] {
                       CountingSink s;
                       Write(batches, none, MakeParquetWriter, s);
                     },
                     {}});
    cases.push_back({"own pages, not compressed",
                     [&] {
                       CountingSink s;
                       Write(batches, none, MakePageWriter, s);
                     },
                     {}});
    cases.push_back({"zstd alone by Arrow's codec",
                     [&] {
                       for (auto& p : pages)
                         (void)*codec->Compress(p->size(), p->data(),
                                                static_cast<int64_t>(out.size()), out.data());
                     },
                     {}});
#ifdef OWN_ZSTD
    ZSTD_CCtx* ctx = ZSTD_createCCtx();
    cases.push_back({"zstd " ZSTD_VERSION_STRING " alone, one context",
                     [&] {
                       for (auto& p : pages)
                         (void)ZSTD_compressCCtx(ctx, out.data(), out.size(), p->data(),
                                                 static_cast<size_t>(p->size()), 1);
                     },
                     {}});
#endif
    cases.push_back({"dictionaries alone",
                     [&] {
                       std::deque<GroupDictionary> all;
                       for (auto& c : layout.columns)
                         if (c.grouped) all.emplace_back(*c.column, zstd.row_group_rows);
                       size_t in = 0;
                       for (auto& b : batches) {
                         size_t i = 0;
                         for (auto& c : layout.columns)
                           if (c.grouped) all[i++].Append(b.column(c.index), 0, b.rows());
                         in += b.rows();
                         if (in >= 131072) {
                           in = 0;
                           for (auto& d : all) d.Clear();
                         }
                       }
                     },
                     {}});
    for (int r = 0; r < runs; ++r)
      for (auto& c : cases) {
        const double t = Now();
        c.run();
        c.times.push_back(Now() - t);
      }
    for (auto& c : cases) {
      const double best = *std::ranges::min_element(c.times);
      std::string all;
      for (double t : c.times) all += fmt::format(" {:.0f}", 1e9 * t / rows);
      fmt::print("  {:36} {:6.0f} ns/row {:6.0f} k rows/s   ({} )\n", c.name, 1e9 * best / rows,
                 rows / best / 1000, all);
    }
  }
}
