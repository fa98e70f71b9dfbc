// Reader of NumPy's .npy format, versions 1 to 3 (numpy.lib.format): a header with a Python dict
// literal, then the elements.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/read_file.h"
#include "common/base/unique_fd.h"
#include "phi/arithmetic/huge_pages.h"
#include "phi/series/series_table.h"

namespace reveza::phi {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Header {
  std::string_view type;  // such as "<f8"
  bool fortran = false;
  std::vector<std::int64_t> shape;
  std::string_view data;
};

// Returns the header text after 'key':.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  const auto at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size() + 3);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

std::optional<std::vector<std::int64_t>> ShapeOf(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  const auto close = text.find(')');
  if (close == std::string_view::npos) return std::nullopt;
  text = text.substr(1, close - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    const auto begin = text.find_first_not_of(" ,");
    if (begin == std::string_view::npos) return shape;
    text.remove_prefix(begin);
    std::int64_t length = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || length < 0) return std::nullopt;
    shape.push_back(length);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
}

Result<Header> HeaderOf(std::string_view bytes, const std::string& name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    return InvalidArgument(name + ": not a .npy file; use numpy.save");
  }
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const bool wide = byte(6) >= 2;
  const std::size_t begin = wide ? 12 : 10;
  std::size_t length = byte(8) | (std::size_t{byte(9)} << 8);
  if (wide) length |= (std::size_t{byte(10)} << 16) | (std::size_t{byte(11)} << 24);
  if (length > bytes.size() - begin) return InvalidArgument(name + ": truncated header");
  const std::string_view text = bytes.substr(begin, length);
  Header header;
  header.data = bytes.substr(begin + length);
  std::string_view type = ValueOf(text, "descr");
  if (type.starts_with('\'')) {
    type.remove_prefix(1);
    header.type = type.substr(0, type.find('\''));
  }
  header.fortran = ValueOf(text, "fortran_order").starts_with("True");
  auto shape = ShapeOf(ValueOf(text, "shape"));
  if (!shape) return InvalidArgument(name + ": the header has no valid shape");
  header.shape = *std::move(shape);
  return header;
}

template <typename T>
double ElementOf(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(value);
}

struct ElementType {
  std::string_view name;
  std::size_t size;
  double (*read)(const char*);
};

constexpr ElementType kTypes[] = {
    {"<f8", 8, ElementOf<double>},        {"<f4", 4, ElementOf<float>},
    {"<i8", 8, ElementOf<std::int64_t>},  {"<i4", 4, ElementOf<std::int32_t>},
    {"<i2", 2, ElementOf<std::int16_t>},  {"|i1", 1, ElementOf<std::int8_t>},
    {"<u8", 8, ElementOf<std::uint64_t>}, {"<u4", 4, ElementOf<std::uint32_t>},
    {"<u2", 2, ElementOf<std::uint16_t>}, {"|u1", 1, ElementOf<std::uint8_t>},
    {"|b1", 1, ElementOf<std::uint8_t>},
};

struct Layout {
  std::int64_t trials = 1;
  std::int64_t length = 0;
  std::int64_t variables = 1;
  std::int64_t trial_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t variable_stride = 0;
};

// `available` is the number of bytes of data.
Result<Layout> LayoutOf(const Header& header, std::size_t element, std::size_t available,
                        const std::string& name) {
  const auto& shape = header.shape;
  if (shape.empty() || shape.size() > 3) {
    return InvalidArgument(
        "{}: array with {} dimensions; use (time, variables) or (trials, time, variables)", name,
        shape.size());
  }
  // Check bounds before multiplying, because a damaged header may contain any lengths.
  const auto max_elements = static_cast<std::int64_t>(available / element);
  std::int64_t elements = 1;
  for (const std::int64_t length : shape) {
    if (length == 0) return InvalidArgument(name + ": no rows");
    if (length > max_elements / elements) {
      return InvalidArgument("{}: truncated: {} bytes of data are less than its shape requires",
                             name, available);
    }
    elements *= length;
  }
  Layout layout;
  layout.length = shape[shape.size() == 3 ? 1 : 0];
  if (shape.size() >= 2) layout.variables = shape.back();
  if (shape.size() == 3) layout.trials = shape.front();
  if (header.fortran) {
    layout.trial_stride = 1;
    layout.row_stride = layout.trials;
    layout.variable_stride = layout.trials * layout.length;
  } else {
    layout.variable_stride = 1;
    layout.row_stride = layout.variables;
    layout.trial_stride = layout.variables * layout.length;
  }
  return layout;
}

// Returns the names of columns without names.
std::vector<std::string> IndexNames(std::int64_t variables) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < variables; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

// Reads up to `size` bytes, fewer only at the end of the file or after an error.
std::size_t ReadUpTo(int file, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file, to + done, size - done);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  return done;
}

// Reads a file whose data are what is kept, rows of doubles of all columns, in pieces that stay in
// the cache, without a second copy of them in memory. Returns nothing for other files, and where
// there is an error to report.
std::optional<SeriesTable> ReadRowsOfDoubles(const std::string& path, const ReadOptions& options) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (!options.columns.empty() || !options.trials.empty()) return std::nullopt;
  std::string piece(kPiece, '\0');
  std::size_t size = ReadUpTo(file.get(), piece.data(), kPiece);
  const auto header = HeaderOf(std::string_view(piece).substr(0, size), path);
  if (!header || header->type != "<f8" || header->fortran) return std::nullopt;
  const std::size_t begin = size - header->data.size();
  const auto bytes = static_cast<std::size_t>(status.st_size);
  const auto layout = LayoutOf(*header, sizeof(double), bytes - std::min(bytes, begin), path);
  if (!layout) return std::nullopt;
  SeriesTable table = {.names = IndexNames(layout->variables), .values = {}};
  for (std::int64_t i = 1; i < layout->trials; ++i) table.trials.push_back(i * layout->length);
  const auto elements = static_cast<std::size_t>(layout->trials * layout->length) *
                        static_cast<std::size_t>(layout->variables);
  ReserveOnHugePages(table.values, elements);
  const auto some = std::make_unique_for_overwrite<double[]>(kPiece / sizeof(double));
  // What follows the header need not be aligned.
  std::size_t at = begin;
  while (true) {
    const std::size_t count =
        std::min((size - at) / sizeof(double), elements - table.values.size());
    std::memcpy(some.get(), piece.data() + at, count * sizeof(double));
    table.values.insert(table.values.end(), some.get(), some.get() + count);
    if (table.values.size() == elements) return table;
    const std::size_t left = size - at - count * sizeof(double);
    std::memmove(piece.data(), piece.data() + size - left, left);
    const std::size_t got = ReadUpTo(file.get(), piece.data() + left, kPiece - left);
    if (got == 0) return std::nullopt;
    size = left + got;
    at = 0;
  }
}

}  // namespace

Result<SeriesTable> ReadNumpyFile(const std::string& path, const ReadOptions& options) {
  if (auto table = ReadRowsOfDoubles(path, options)) return *std::move(table);
  ASSIGN_OR_RETURN(const auto bytes, ReadFile(path));
  return ReadNumpy(bytes, path, options);
}

Result<SeriesTable> ReadNumpy(std::string_view bytes, const std::string& name,
                              const ReadOptions& options) {
  ASSIGN_OR_RETURN(const auto header, HeaderOf(bytes, name));
  const ElementType* type = nullptr;
  for (const ElementType& known : kTypes) {
    if (known.name == header.type) type = &known;
  }
  if (type == nullptr) {
    return InvalidArgument(
        "{}: unsupported element type '{}'; save as little-endian float64 with numpy.save(file, "
        "array.astype('<f8'))",
        name, header.type);
  }
  ASSIGN_OR_RETURN(const auto layout, LayoutOf(header, type->size, header.data.size(), name));
  const std::vector<std::string> names = IndexNames(layout.variables);
  ASSIGN_OR_RETURN(const auto columns, SelectColumns(names, name, options));
  SeriesTable table;
  for (const std::size_t column : columns.chosen) table.names.push_back(names[column]);
  const std::size_t elements =
      static_cast<std::size_t>(layout.trials * layout.length) * columns.chosen.size();
  ReserveOnHugePages(table.values, elements);
  const auto element = [&](std::int64_t trial, std::int64_t row, std::size_t column) {
    const std::int64_t at = trial * layout.trial_stride + row * layout.row_stride +
                            static_cast<std::int64_t>(column) * layout.variable_stride;
    return type->read(header.data.data() + static_cast<std::size_t>(at) * type->size);
  };
  for (std::int64_t trial = 0; trial < layout.trials; ++trial) {
    for (std::int64_t row = 0; row < layout.length; ++row) {
      const bool changes =
          columns.trials && row > 0 &&
          element(trial, row, *columns.trials) != element(trial, row - 1, *columns.trials);
      if ((row == 0 && trial > 0) || changes) table.trials.push_back(table.length());
      for (const std::size_t column : columns.chosen)
        table.values.push_back(element(trial, row, column));
    }
  }
  return table;
}

}  // namespace reveza::phi
