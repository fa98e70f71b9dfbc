#include "fraudgen/values/cpf.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace reveza::fraudgen {
namespace cpf_test {

TEST(IsValidCpf, VerifiesCheckDigits) {
  // Examples from published descriptions of the check digits.
  EXPECT_TRUE(IsValidCpf("529.982.247-25"));
  EXPECT_TRUE(IsValidCpf("111.444.777-35"));
  EXPECT_TRUE(IsValidCpf("123.456.789-09")) << "a remainder below 2 gives 0";
  EXPECT_FALSE(IsValidCpf("529.982.247-26"));
  EXPECT_FALSE(IsValidCpf("529.982.247-15"));
}

TEST(IsValidCpf, RejectsOtherFormatsAndRepeatedDigits) {
  for (const char* text : {"", "52998224725", "529.982.247/25", "529-982-247-25", "529.982.247-2",
                           "529.982.247-255", "a29.982.247-25", "529.982.24:-25"}) {
    EXPECT_FALSE(IsValidCpf(text)) << text;
  }
  EXPECT_FALSE(IsValidCpf("000.000.000-00")) << "check digits match, but it is never assigned";
  EXPECT_FALSE(IsValidCpf("777.777.777-77"));
}

TEST(CpfSequence, KeepsItsGoldenValues) {
  const CpfSequence sequence(42, Identities::kValid);
  EXPECT_EQ(View(sequence.At(0, 8)), "416.198.118-04");
  EXPECT_EQ(View(sequence.At(1, 8)), "257.396.608-90");
}

TEST(CpfSequence, IsValidUniqueAndInTheRegion) {
  const CpfSequence sequence(5, Identities::kValid);
  std::set<std::string> seen;
  for (uint64_t person = 0; person < 5000; ++person) {
    const uint32_t region = person % 10;
    const Cpf cpf = sequence.At(person, region);
    EXPECT_TRUE(IsValidCpf(View(cpf))) << View(cpf);
    EXPECT_EQ(cpf[10], static_cast<char>('0' + region)) << View(cpf);
    EXPECT_TRUE(seen.insert(std::string(View(cpf))).second) << View(cpf) << " twice";
  }
}

// The base with nine equal digits is skipped; its neighbours are each used once.
TEST(CpfSequence, SkipsNineEqualDigits) {
  const uint64_t seed = 5;
  const CpfSequence sequence(seed, Identities::kValid);
  const Permutation order(seed, CpfSequence::kPeople);
  for (uint32_t region = 0; region < 10; ++region) {
    const uint64_t equal = uint64_t{11'111'111} * region;
    const auto base = [&](uint64_t number) {
      const Cpf cpf = sequence.At(order.IndexOf(number), region);
      return std::string(View(cpf).substr(0, 11));
    };
    const std::string digit = std::to_string(region);
    const std::string equal_digits(3, digit[0]);
    if (equal > 0) {
      EXPECT_LT(base(equal - 1), equal_digits + "." + equal_digits + "." + equal_digits);
    }
    if (equal < CpfSequence::kPeople) {
      EXPECT_GT(base(equal), equal_digits + "." + equal_digits + "." + equal_digits);
    }
    EXPECT_TRUE(IsValidCpf(View(sequence.At(order.IndexOf(0), region))));
    EXPECT_TRUE(IsValidCpf(View(sequence.At(order.IndexOf(CpfSequence::kPeople - 1), region))));
  }
}

TEST(CpfSequence, SafeNumbersHaveBothCheckDigitsWrong) {
  const CpfSequence valid(5, Identities::kValid);
  const CpfSequence safe(5, Identities::kSafe);
  for (uint64_t person = 0; person < 2000; ++person) {
    const Cpf right = valid.At(person, 8);
    const Cpf wrong = safe.At(person, 8);
    EXPECT_FALSE(IsValidCpf(View(wrong))) << View(wrong);
    EXPECT_EQ(View(wrong).substr(0, 12), View(right).substr(0, 12));
    EXPECT_NE(wrong[12], right[12]);
    EXPECT_NE(wrong[13], right[13]);
  }
}

}  // namespace cpf_test
}  // namespace reveza::fraudgen
