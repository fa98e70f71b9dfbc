#include "fraudgen/model/classic/people.h"

#include <array>
#include <string_view>

#include "fraudgen/lists/people.h"
#include "fraudgen/model/classic/draws.h"
#include "fraudgen/values/random.h"

namespace reveza::fraudgen::classic {
namespace {

constexpr std::array<std::string_view, 3> kTitlesFemale = {"Dra. ", "Sra. ", "Srta. "};
constexpr std::array<std::string_view, 2> kTitlesMale = {"Dr. ", "Sr. "};
constexpr std::array<std::string_view, 3> kDomains = {"@example.com", "@example.net",
                                                      "@example.org"};
// A is a digit of an area code, # any other digit.
constexpr std::array<std::string_view, 8> kPhoneFormats = {
    "+55 (0AA) #### ####", "+55 (AA) #### ####", "+55 0AA #### ####", "+55 AA #### ####",
    "(0AA) #### ####",     "(0AA) ####-####",    "(AA) ####-####",    "0AA #### ####"};
constexpr std::array<std::string_view, 4> kServiceFormats = {"0300 ### ####", "0500 ### ####",
                                                             "0800 ### ####", "0900 ### ####"};

template <typename List>
std::string_view OneOf(const List& list, uint64_t bits) {
  return list[UpperProduct(bits, list.size())];
}

void AppendPlainName(std::string& text, std::string_view name) {
  const std::size_t before = text.size();
  text.resize(before + name.size());
  text.resize(static_cast<std::size_t>(lists::PutPlainName(&text[before], name) - text.data()));
}

}  // namespace

// A woman's or a man's first name and a surname, with a title in one of six.
void AppendName(ColumnValues& names, uint64_t bits) {
  const bool woman = bits >> 63 != 0;
  if (UpperProduct(bits << 1, 6) == 0) {
    names.bytes += woman ? OneOf(kTitlesFemale, bits << 12) : OneOf(kTitlesMale, bits << 12);
  }
  names.bytes += woman ? OneOf(lists::kFirstNamesFemale, bits << 24)
                       : OneOf(lists::kFirstNamesMale, bits << 24);
  names.bytes += ' ';
  names.AppendText(OneOf(lists::kSurnames, bits << 44));
}

void AppendEmail(ColumnValues& emails, uint64_t bits) {
  constexpr std::size_t kFemale = lists::kFirstNamesFemale.size();
  const uint64_t first = UpperProduct(bits, kFemale + lists::kFirstNamesMale.size());
  AppendPlainName(emails.bytes, first < kFemale ? lists::kFirstNamesFemale[first]
                                                : lists::kFirstNamesMale[first - kFemale]);
  if (bits >> 43 & 1) emails.bytes += '.';
  AppendPlainName(emails.bytes, OneOf(lists::kSurnames, bits << 22));
  AppendDigits(emails.bytes, bits << 42, 2);
  emails.AppendText(OneOf(kDomains, bits << 54));
}

void AppendPhone(ColumnValues& phones, uint64_t format_bits, uint64_t digit_bits) {
  const bool service = UpperProduct(format_bits, 10) == 0;
  for (const char sign : service ? OneOf(kServiceFormats, LowerHalf(format_bits))
                                 : OneOf(kPhoneFormats, LowerHalf(format_bits))) {
    if (sign != '#' && sign != 'A') {
      phones.bytes += sign;
      continue;
    }
    // Area codes contain no zero.
    phones.bytes += static_cast<char>(sign == '#' ? '0' + TakeBelow(10, digit_bits)
                                                  : '1' + TakeBelow(9, digit_bits));
  }
  phones.AppendText("");
}

void AppendDigits(std::string& text, uint64_t bits, int count) {
  for (int place = 0; place < count; ++place) {
    text += static_cast<char>('0' + TakeBelow(10, bits));
  }
}

}  // namespace reveza::fraudgen::classic
