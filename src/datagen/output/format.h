// The names of formats, codecs and kinds of money, as the command line, the manifests and the ends
// of files have them. Constant data, safe from any thread.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "datagen/output/table_writer.h"

namespace reveza::datagen {

// jsonl json csv tsv parquet arrow: what a format is called, and how its files end.
std::string_view NameOf(Format format);
// none snappy zstd gzip brotli
std::string_view NameOf(Codec codec);
// float decimal cents
std::string_view NameOf(Money money);

std::optional<Format> FormatOf(std::string_view name);
std::optional<Codec> CodecOf(std::string_view name);
std::optional<Money> MoneyOf(std::string_view name);

// All of them, in the order of the enumeration: to choose from.
std::span<const std::string_view> FormatNames();
std::span<const std::string_view> CodecNames();
std::span<const std::string_view> MoneyNames();

}  // namespace reveza::datagen
