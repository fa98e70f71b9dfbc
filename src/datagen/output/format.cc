#include "datagen/output/format.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reveza::datagen {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kFormats = {"jsonl"sv, "json"sv, "csv"sv, "tsv"sv, "parquet"sv, "arrow"sv};
constexpr std::array kCodecs = {"none"sv, "snappy"sv, "zstd"sv, "gzip"sv, "brotli"sv};
constexpr std::array kMoney = {"float"sv, "decimal"sv, "cents"sv};

template <typename T>
std::optional<T> Find(std::span<const std::string_view> names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

}  // namespace

std::string_view NameOf(Format format) { return kFormats[static_cast<std::size_t>(format)]; }
std::string_view NameOf(Codec codec) { return kCodecs[static_cast<std::size_t>(codec)]; }
std::string_view NameOf(Money money) { return kMoney[static_cast<std::size_t>(money)]; }

std::optional<Format> FormatOf(std::string_view name) { return Find<Format>(kFormats, name); }
std::optional<Codec> CodecOf(std::string_view name) { return Find<Codec>(kCodecs, name); }
std::optional<Money> MoneyOf(std::string_view name) { return Find<Money>(kMoney, name); }

std::span<const std::string_view> FormatNames() { return kFormats; }
std::span<const std::string_view> CodecNames() { return kCodecs; }
std::span<const std::string_view> MoneyNames() { return kMoney; }

}  // namespace reveza::datagen
