#include "reveza/gpu/interpose/contexts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace reveza::interpose {
namespace contexts_test {

CUcontext Handle(std::uintptr_t number) { return reinterpret_cast<CUcontext>(number); }

TEST(ContextsTest, AreKnownOnceUntilRemoved) {
  Contexts contexts;
  EXPECT_TRUE(contexts.Add(0, Handle(1)));
  EXPECT_FALSE(contexts.Add(0, Handle(1)));
  EXPECT_TRUE(contexts.Add(1, Handle(2)));
  EXPECT_EQ(contexts.All(), (std::vector{Handle(1), Handle(2)}));
  EXPECT_EQ(contexts.Of(1), Handle(2));
  EXPECT_EQ(contexts.BeginEnd(Handle(2)), 1);
  contexts.Remove(Handle(2));
  EXPECT_EQ(contexts.Of(1), nullptr);
  EXPECT_EQ(contexts.BeginEnd(Handle(2)), std::nullopt);
}

TEST(ContextsTest, HoldTakesTheContextsOfTheDevices) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  contexts.Add(1, Handle(2));
  contexts.Add(1, Handle(3));
  EXPECT_EQ(contexts.Hold({1}).contexts(), (std::vector{Handle(2), Handle(3)}));
  EXPECT_TRUE(contexts.Hold({}).contexts().empty());
}

TEST(ContextsTest, HeldContextDoesNotEnd) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  contexts.Add(0, Handle(2));
  std::atomic<bool> released{false};
  std::thread ender;
  {
    const Contexts::Held held = contexts.Hold({0});
    ender = std::thread([&] {
      EXPECT_EQ(contexts.BeginEnd(Handle(2)), 0);
      EXPECT_TRUE(released);
      contexts.Remove(Handle(2));
    });
    contexts.Add(1, Handle(3));  // moves the others
    released = true;
  }
  ender.join();
  EXPECT_EQ(contexts.Hold({0}).contexts(), std::vector{Handle(1)});
}

TEST(ContextsTest, OneContextIsHeldUnlessItIsEnding) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  EXPECT_EQ(contexts.HoldOne(Handle(1)).contexts(), std::vector{Handle(1)});
  EXPECT_TRUE(contexts.HoldOne(Handle(2)).contexts().empty());
  EXPECT_EQ(contexts.BeginEnd(Handle(1)), 0);
  EXPECT_TRUE(contexts.HoldOne(Handle(1)).contexts().empty());
}

TEST(ContextsTest, AnyContextIsHeldThatIsNotEnding) {
  Contexts contexts;
  EXPECT_TRUE(contexts.HoldAny().contexts().empty());
  contexts.Add(0, Handle(1));
  contexts.Add(1, Handle(2));
  EXPECT_EQ(contexts.BeginEnd(Handle(1)), 0);
  std::atomic<bool> released{false};
  std::thread ender;
  {
    const Contexts::Held held = contexts.HoldAny();
    EXPECT_EQ(held.contexts(), std::vector{Handle(2)});
    ender = std::thread([&] {
      EXPECT_EQ(contexts.BeginEnd(Handle(2)), 1);
      EXPECT_TRUE(released);
    });
    released = true;
  }
  ender.join();
  EXPECT_TRUE(contexts.HoldAny().contexts().empty());
}

TEST(ContextsTest, MemoryOfAGreenContextBelongsToThePrimaryContext) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  contexts.Add(0, Handle(2), /*primary=*/true);
  contexts.Add(1, Handle(3), /*primary=*/true);
  EXPECT_EQ(contexts.OwnerOf(0, Handle(1)), Handle(1));
  EXPECT_EQ(contexts.OwnerOf(0, Handle(2)), Handle(2));
  EXPECT_EQ(contexts.OwnerOf(0, Handle(9)), Handle(2));
  EXPECT_EQ(contexts.OwnerOf(2, Handle(9)), Handle(9));
}

TEST(ContextsTest, ReferencesAreCounted) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  EXPECT_FALSE(contexts.RemoveReference(Handle(1))) << "the last one";
  contexts.AddReference(Handle(1));
  EXPECT_TRUE(contexts.RemoveReference(Handle(1)));
  EXPECT_FALSE(contexts.RemoveReference(Handle(1)));
  EXPECT_FALSE(contexts.RemoveReference(Handle(2)));
}

TEST(ContextsTest, ContextThatMayEndIsHeldOnceThatIsDecided) {
  Contexts contexts;
  contexts.Add(0, Handle(1));
  ASSERT_EQ(contexts.BeginEnd(Handle(1)), 0);
  std::atomic<bool> decided{false};
  std::thread holder([&] {
    EXPECT_EQ(contexts.Hold({0}).contexts(), std::vector{Handle(1)});
    EXPECT_TRUE(decided);
  });
  std::thread ender([&] {
    EXPECT_EQ(contexts.BeginEnd(Handle(1)), 0);
    EXPECT_TRUE(decided);
    contexts.Keep(Handle(1));
  });
  decided = true;
  contexts.Keep(Handle(1));
  holder.join();
  ender.join();
}

}  // namespace contexts_test
}  // namespace reveza::interpose
