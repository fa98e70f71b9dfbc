#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fraudgen/output/table_writer.h"
#include "fraudgen/output/testing_rows.h"
#include "fraudgen/output/text_codec.h"

namespace reveza::fraudgen {
namespace arrow_text_codec_test {

constexpr Codec kCodecs[] = {Codec::kZstd, Codec::kGzip, Codec::kLz4};

// A file in memory that is read in small steps.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  std::size_t step() const override { return 1'000; }
  Result<std::size_t> ReadAt(uint64_t position, std::span<char> to) override {
    return bytes_.copy(to.data(), to.size(), static_cast<std::size_t>(position));
  }

 private:
  std::string bytes_;
};

Result<std::string> TextOf(Codec codec, std::string bytes, std::size_t step = 777) {
  ASSIGN_OR_RETURN(auto source,
                   OpenCompressed(codec, std::make_unique<MemorySource>(std::move(bytes))));
  std::string text;
  std::string part(step, '\0');
  while (true) {
    ASSIGN_OR_RETURN(const std::size_t got, source->ReadAt(text.size(), part));
    text.append(part, 0, got);
    if (got < step) return text;
  }
}

std::string Compressed(Codec codec, const std::string& text, std::size_t step) {
  MemorySink sink;
  const auto compressor = MakeCompressingSink(codec, 1, sink);
  EXPECT_TRUE(compressor);
  for (std::size_t at = 0; at < text.size(); at += step) {
    EXPECT_TRUE((*compressor)->Append(std::string_view(text).substr(at, step)));
  }
  EXPECT_TRUE((*compressor)->Finish());
  EXPECT_FALSE(sink.finished()) << "belongs to the caller";
  return sink.bytes();
}

std::string Rows(uint64_t rows = 20'000) {
  return WriteTestingRows({.format = Format::kJsonLines}, kTestingTable, rows, 1'000,
                          TestingTexts::kPlain);
}

TEST(TextCodec, RoundTripsForAnyDivision) {
  const std::string text = Rows();
  for (const Codec codec : kCodecs) {
    const std::string bytes = Compressed(codec, text, text.size());
    EXPECT_LT(bytes.size(), text.size());
    for (const std::size_t step : {std::size_t{999}, std::size_t{262'144}}) {
      EXPECT_EQ(DifferenceOf(bytes, Compressed(codec, text, step)), "") << NameOf(codec);
    }
    for (const std::size_t step : {std::size_t{1}, std::size_t{777}, std::size_t{1'000'000}}) {
      const auto back = TextOf(codec, step == 1 ? Compressed(codec, "short", 2) : bytes, step);
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(DifferenceOf(*back, step == 1 ? "short" : text), "") << NameOf(codec);
    }
    const auto empty = TextOf(codec, Compressed(codec, "", 1));
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ(*empty, "");
    const auto twice = TextOf(codec, Compressed(codec, "one\n", 9) + Compressed(codec, "two\n", 9));
    ASSERT_TRUE(twice) << twice.error().message;
    EXPECT_EQ(*twice, "one\ntwo\n") << "files may be concatenated";
  }
}

TEST(TextCodec, DetectsDamage) {
  const std::string text = Rows();
  for (const Codec codec : kCodecs) {
    const std::string bytes = Compressed(codec, text, text.size());
    for (const std::size_t left : {bytes.size() - 1, bytes.size() / 2, std::size_t{5}}) {
      const auto cut = TextOf(codec, bytes.substr(0, left));
      ASSERT_FALSE(cut) << NameOf(codec) << " " << left;
      EXPECT_EQ(cut.error().code, Error::Code::kInvalidArgument);
    }
    const auto longer = TextOf(codec, bytes + "garbage");
    ASSERT_FALSE(longer) << NameOf(codec);
    EXPECT_EQ(longer.error().code, Error::Code::kInvalidArgument);
    const auto plain = TextOf(codec, "{\"plain\": \"text\"}\n");
    ASSERT_FALSE(plain) << NameOf(codec);
    EXPECT_EQ(plain.error().code, Error::Code::kInvalidArgument);
  }
}

TEST(TextCodec, FilesDoNotDependOnBatches) {
  for (const Codec codec : kCodecs) {
    for (const Format format : {Format::kJsonLines, Format::kJson, Format::kCsv, Format::kTsv}) {
      const TableOptions options{.format = format, .text_codec = codec};
      const auto bytes = [&](std::size_t batch_rows) {
        return WriteTestingRows(options, kTestingTable, 9'000, batch_rows, TestingTexts::kAwkward);
      };
      const std::string whole = bytes(Batch::kMaxRows);
      EXPECT_EQ(DifferenceOf(whole, bytes(100)), "");
      const auto text = TextOf(codec, whole);
      ASSERT_TRUE(text) << text.error().message;
      EXPECT_EQ(DifferenceOf(*text, WriteTestingRows({.format = format}, kTestingTable, 9'000,
                                                     1'000, TestingTexts::kAwkward)),
                "");
    }
  }
}

TEST(TextCodec, PassesErrorsOfTheSink) {
  class Full final : public ByteSink {
   public:
    Status Append(std::string_view) override { return Fail(Error::Code::kExhausted, "full"); }
    Status Finish() override { return {}; }
  };
  for (const Codec codec : kCodecs) {
    Full sink;
    const auto compressor = MakeCompressingSink(codec, 1, sink);
    ASSERT_TRUE(compressor);
    auto status = (*compressor)->Append(Rows());
    if (status) status = (*compressor)->Finish();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Error::Code::kExhausted);
  }
}

}  // namespace arrow_text_codec_test
}  // namespace reveza::fraudgen
