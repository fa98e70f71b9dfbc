#include <gtest/gtest.h>

#include <cstdarg>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "reveza/gpu/interpose/resolver.h"

extern "C" unsigned long revezaTestSubmissions();
extern "C" const char* revezaTestLastUnknownCall();

namespace reveza::interpose {
namespace unknown_calls_test {

int Add(int a, int b) { return a + b; }

std::string Format(const char* format, ...) {
  char text[128];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  return text;
}

struct Large {
  long numbers[6];
};
Large Sum(Large a, float b, long double c) {
  for (long& number : a.numbers) number += static_cast<long>(b) + static_cast<long>(c);
  return a;
}

template <typename F>
F* Gated(F* function, const char* name) {
  return reinterpret_cast<F*>(GateUnknownCall(reinterpret_cast<void*>(function), name));
}

TEST(UnknownCalls, TakeTheGateAndReportTheirName) {
  auto* add = Gated(&Add, "cuAdd");
  ASSERT_NE(add, &Add);
  const unsigned long before = revezaTestSubmissions();
  EXPECT_EQ(add(40, 2), 42);
  EXPECT_EQ(revezaTestSubmissions(), before + 1);
  EXPECT_STREQ(revezaTestLastUnknownCall(), "cuAdd");
}

TEST(UnknownCalls, OneThunkPerFunction) {
  EXPECT_EQ(Gated(&Add, "cuAdd"), Gated(&Add, "cuAdd"));
  EXPECT_NE(reinterpret_cast<void*>(Gated(&Add, "cuAdd")),
            reinterpret_cast<void*>(Gated(&Format, "cuFormat")));
}

TEST(UnknownCalls, CopyTheName) {
  std::string name = "cuTemporary";
  auto* sum = Gated(&Sum, name.c_str());
  name.assign(name.size(), 'x');
  sum({}, 0, 0);
  EXPECT_STREQ(revezaTestLastUnknownCall(), "cuTemporary");
}

TEST(UnknownCalls, ForwardVariadicArgumentsAndStructs) {
  EXPECT_EQ(Gated(&Format, "cuFormat")("%d %.1f %s %ld %.2f", 1, 2.5, "three", 4l, 5.25),
            "1 2.5 three 4 5.25");
  const Large sum = Gated(&Sum, "cuSum")({{1, 2, 3, 4, 5, 6}}, 10.0f, 100.0l);
  EXPECT_EQ(sum.numbers[0], 111);
  EXPECT_EQ(sum.numbers[5], 116);
}

TEST(UnknownCallsDeathTest, ReportedAtOnceWhenThunksAreExhausted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static char functions[kMaxUnknownCalls + 2];
        std::set<void*> gates;
        for (std::size_t i = 0; i < kMaxUnknownCalls; ++i) {
          gates.insert(GateUnknownCall(&functions[i], "cuOneOfMany"));
        }
        if (gates.size() != kMaxUnknownCalls || gates.contains(&functions[0])) _exit(1);
        if (GateUnknownCall(&functions[3], "cuOneOfMany") == &functions[3]) _exit(2);
        for (std::size_t i = kMaxUnknownCalls; i < kMaxUnknownCalls + 2; ++i) {
          if (GateUnknownCall(&functions[i], "cuOneTooMany") != &functions[i]) _exit(3);
          if (std::string(revezaTestLastUnknownCall()) != "cuOneTooMany") _exit(4);
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace unknown_calls_test
}  // namespace reveza::interpose
