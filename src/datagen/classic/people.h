// Names, e-mail addresses and telephone numbers of customers and drivers, which have nothing to do
// with each other. Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reveza::datagen::classic {

class People {
 public:
  People();

  // Each appends what these 64 random bits stand for.
  static void AppendName(std::string& text, uint64_t bits);
  // At an example domain.
  void AppendEmail(std::string& text, uint64_t bits) const;
  // In one of several formats, with any area code; one in ten is a service number.
  static void AppendPhone(std::string& text, uint64_t format_bits, uint64_t digit_bits);

 private:
  // First names and surnames in small letters without accents.
  std::vector<std::string> first_;
  std::vector<std::string> last_;
};

// Writes `count` digits of a number that the bits stand for.
void AppendDigits(std::string& text, uint64_t bits, int count);

}  // namespace reveza::datagen::classic
