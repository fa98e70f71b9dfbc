// A mutex, its lock and a condition variable, annotated for clang's thread-safety analysis: access
// to a GUARDED_BY member without its mutex is an error there (tools/check_locks.sh).
//
// Over pthread and header-only, because libreveza.so has no C++ runtime. Wait for a condition in a
// loop; the analysis does not see a lock inside a lambda:
//
//   MutexLock lock(mutex_);
//   while (queue_.empty()) changed_.Wait(mutex_);
#pragma once

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <cstdint>

#ifdef __clang__
#define REVEZA_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define REVEZA_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(name) REVEZA_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY REVEZA_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(mutex) REVEZA_THREAD_ANNOTATION(guarded_by(mutex))
#define REQUIRES(...) REVEZA_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) REVEZA_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) REVEZA_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define NO_THREAD_SAFETY_ANALYSIS REVEZA_THREAD_ANNOTATION(no_thread_safety_analysis)

namespace reveza {

class CAPABILITY("mutex") Mutex {
 public:
  // Constant-initialised and, like std::mutex, without a destructor: usable as a global.
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() { pthread_mutex_lock(&mutex_); }
  void Unlock() RELEASE() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class CondVar;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

// Holds a mutex from construction to destruction, except between Unlock() and Lock().
class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() RELEASE() {
    if (held_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() RELEASE() {
    held_ = false;
    mutex_.Unlock();
  }
  void Lock() ACQUIRE() {
    mutex_.Lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

class CondVar {
 public:
  CondVar() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~CondVar() { pthread_cond_destroy(&condition_); }
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mutex) REQUIRES(mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  // Returns false on timeout.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) REQUIRES(mutex) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const std::int64_t end = until.tv_nsec + timeout.count();
    until.tv_sec += end / kSecond;
    until.tv_nsec = end % kSecond;
    return pthread_cond_timedwait(&condition_, &mutex.mutex_, &until) == 0;
  }
  void NotifyOne() { pthread_cond_signal(&condition_); }
  void NotifyAll() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

}  // namespace reveza
