// The contexts that the program has made and not ended. Thread-safe.
//
// A thread that waits for the work of other contexts than its own holds them, so that no other
// thread ends one meanwhile.
#pragma once

#include <cuda.h>

#include <optional>
#include <vector>

#include "common/base/mutex.h"

namespace reveza::interpose {

class Contexts {
 public:
  // Contexts that cannot end. Move-only; released on destruction.
  class Held {
   public:
    Held(Held&& other) noexcept : owner_(other.owner_), contexts_(std::move(other.contexts_)) {}
    Held& operator=(Held&&) = delete;
    ~Held() { owner_.Release(contexts_); }

    const std::vector<CUcontext>& contexts() const { return contexts_; }

   private:
    friend class Contexts;
    Held(Contexts& owner, std::vector<CUcontext> contexts)
        : owner_(owner), contexts_(std::move(contexts)) {}

    Contexts& owner_;
    std::vector<CUcontext> contexts_;
  };

  // Adds a context. Returns false if it is known: primary contexts are retained many times.
  bool Add(int ordinal, CUcontext context, bool primary = false);
  // Returns the context that owns what is made in `context`, which is current: itself, or for a
  // green context the primary context.
  CUcontext OwnerOf(int ordinal, CUcontext context) const;
  // Return all contexts, and one of a device or null.
  std::vector<CUcontext> All() const;
  CUcontext Of(int ordinal) const;
  // Returns how many contexts a device has.
  int CountOf(int ordinal) const;
  // References of cuCtxAttach. RemoveReference() returns false for the last one.
  void AddReference(CUcontext context);
  bool RemoveReference(CUcontext context);

  // Holds all contexts of the devices. Blocks while one of them is ending.
  Held Hold(const std::vector<int>& ordinals);
  // Holds this context, or none if it is unknown or ending.
  Held HoldOne(CUcontext context);
  // Holds one context that is not ending, if there is one.
  Held HoldAny();
  // Announces that `context` may end, and blocks until nobody holds it; nobody can until Remove()
  // or Keep(). Returns its device; nullopt if the context is unknown.
  std::optional<int> BeginEnd(CUcontext context);
  void Remove(CUcontext context);
  void Keep(CUcontext context);

 private:
  struct Live {
    int ordinal = 0;
    CUcontext context = nullptr;
    bool primary = false;
    int references = 1;
    int holders = 0;
    bool ending = false;
  };
  Live* Find(CUcontext context) REQUIRES(mutex_);
  void Release(const std::vector<CUcontext>& contexts);

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Live> live_ GUARDED_BY(mutex_);
};

}  // namespace reveza::interpose
