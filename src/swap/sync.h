// Mutex and condition over pthread. libreveza.so has no C++ runtime, so std::condition_variable
// and std::thread are out of reach there.
#pragma once

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace reveza::swap {

class Mutex {
 public:
  Mutex() = default;
  ~Mutex() { pthread_mutex_destroy(&mutex_); }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void Lock() { pthread_mutex_lock(&mutex_); }
  void Unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void Wait(Mutex& mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  // false: `microseconds` passed without a notification.
  bool WaitFor(Mutex& mutex, std::int64_t microseconds) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const std::int64_t nanoseconds = until.tv_nsec + microseconds % 1'000'000 * 1000;
    until.tv_sec += microseconds / 1'000'000 + nanoseconds / 1'000'000'000;
    until.tv_nsec = nanoseconds % 1'000'000'000;
    return pthread_cond_timedwait(&condition_, &mutex.mutex_, &until) == 0;
  }
  void NotifyAll() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_;
};

// Microseconds on the monotonic clock.
inline std::int64_t NowMicroseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace reveza::swap
