#include "datagen/classic/people.h"

#include <array>
#include <string_view>

#include "datagen/classic/draws.h"
#include "datagen/lists/people.h"
#include "datagen/random.h"

namespace reveza::datagen::classic {
namespace {

constexpr std::array<std::string_view, 3> kTitlesFemale = {"Dra. ", "Sra. ", "Srta. "};
constexpr std::array<std::string_view, 2> kTitlesMale = {"Dr. ", "Sr. "};
constexpr std::array<std::string_view, 3> kDomains = {"@example.com", "@example.net",
                                                      "@example.org"};
// A stands for a digit of an area code, # for any other.
constexpr std::array<std::string_view, 8> kPhoneFormats = {
    "+55 (0AA) #### ####", "+55 (AA) #### ####", "+55 0AA #### ####", "+55 AA #### ####",
    "(0AA) #### ####",     "(0AA) ####-####",    "(AA) ####-####",    "0AA #### ####"};
constexpr std::array<std::string_view, 4> kServiceFormats = {"0300 ### ####", "0500 ### ####",
                                                             "0800 ### ####", "0900 ### ####"};

template <typename List>
std::string_view OneOf(const List& list, uint64_t bits) {
  return list[UpperProduct(bits, list.size())];
}

// The letter without its accent. The lists have only letters of Latin-1 besides ASCII, which are
// two bytes in UTF-8, the first of them 0xc3.
char Plain(unsigned char second) {
  constexpr std::string_view kPlain = "aaaaaaaceeeeiiiidnooooo*ouuuuyts";
  return kPlain[second & 0x1f];
}

std::string SmallWithoutAccents(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0xc3 && i + 1 < text.size()) {
      plain += Plain(static_cast<unsigned char>(text[++i]));
    } else if (byte >= 'A' && byte <= 'Z') {
      plain += static_cast<char>(byte - 'A' + 'a');
    } else if (byte != ' ' && byte != '-') {
      plain += static_cast<char>(byte);
    }
  }
  return plain;
}

}  // namespace

People::People() {
  for (const std::string_view name : lists::kFirstNamesFemale) {
    first_.push_back(SmallWithoutAccents(name));
  }
  for (const std::string_view name : lists::kFirstNamesMale) {
    first_.push_back(SmallWithoutAccents(name));
  }
  for (const std::string_view name : lists::kSurnames) last_.push_back(SmallWithoutAccents(name));
}

// Woman or man, with a title in one of six, one first name and one surname.
void People::AppendName(std::string& text, uint64_t bits) {
  const bool woman = bits >> 63 != 0;
  if (UpperProduct(bits << 1, 6) == 0) {
    text += woman ? OneOf(kTitlesFemale, bits << 12) : OneOf(kTitlesMale, bits << 12);
  }
  text += woman ? OneOf(lists::kFirstNamesFemale, bits << 24)
                : OneOf(lists::kFirstNamesMale, bits << 24);
  text += ' ';
  text += OneOf(lists::kSurnames, bits << 44);
}

void People::AppendEmail(std::string& text, uint64_t bits) const {
  text += OneOf(first_, bits);
  if (bits >> 43 & 1) text += '.';
  text += OneOf(last_, bits << 22);
  AppendDigits(text, bits << 42, 2);
  text += OneOf(kDomains, bits << 54);
}

void People::AppendPhone(std::string& text, uint64_t format_bits, uint64_t digit_bits) {
  const bool service = UpperProduct(format_bits, 10) == 0;
  for (const char sign : service ? OneOf(kServiceFormats, LowerHalf(format_bits))
                                 : OneOf(kPhoneFormats, LowerHalf(format_bits))) {
    if (sign != '#' && sign != 'A') {
      text += sign;
      continue;
    }
    // Area codes have no zero.
    const auto product = static_cast<unsigned __int128>(digit_bits) * (sign == '#' ? 10 : 9);
    digit_bits = static_cast<uint64_t>(product);
    text += static_cast<char>((sign == '#' ? '0' : '1') + static_cast<int>(product >> 64));
  }
}

void AppendDigits(std::string& text, uint64_t bits, int count) {
  for (int place = 0; place < count; ++place) {
    const auto product = static_cast<unsigned __int128>(bits) * 10;
    bits = static_cast<uint64_t>(product);
    text += static_cast<char>('0' + static_cast<int>(product >> 64));
  }
}

}  // namespace reveza::datagen::classic
