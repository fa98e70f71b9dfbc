// play_calls FILE [--scale N] [--window BYTES] [--pause MICROSECONDS] [--seed N] [--corrupt CALL]
//                 [--wait]
//                              makes the calls of a recording again and prints what it found; with
//                              --wait, ends only at SIGTERM, so that its accounts can be compared
// play_calls --print FILE      prints the calls
//
// Exit status: 0, 1 (memory held something else, or no driver), 2 (wrong command line or file).
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string_view>
#include <thread>

#include "common/base/read_file.h"
#include "tests/recorded_calls/driver.h"
#include "tests/recorded_calls/player.h"

namespace reveza::recorded_calls {
namespace {

struct Arguments {
  std::string file;
  PlayOptions play;
  std::uint64_t pause = 0;  // mean pause between calls
  std::uint64_t seed = 1;
  bool wait = false;
  bool print = false;
};

int Usage(const char* what) {
  std::fprintf(stderr,
               "play_calls: %s\nusage: play_calls FILE [--scale N] [--window BYTES] "
               "[--pause MICROSECONDS] [--seed N] [--corrupt CALL] [--wait] [--print]\n",
               what);
  return 2;
}

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::uint64_t* number = word == "--scale"     ? &arguments->play.scale
                            : word == "--window"  ? &arguments->play.window
                            : word == "--pause"   ? &arguments->pause
                            : word == "--seed"    ? &arguments->seed
                            : word == "--corrupt" ? &arguments->play.corrupt_at
                                                  : nullptr;
    if (number != nullptr) {
      char* end = nullptr;
      if (++i == argc) return false;
      *number = std::strtoull(argv[i], &end, 10);
      if (*end != '\0' || end == argv[i]) return false;
    } else if (word == "--wait") {
      arguments->wait = true;
    } else if (word == "--print") {
      arguments->print = true;
    } else if (word.starts_with("--") || !arguments->file.empty()) {
      return false;
    } else {
      arguments->file = word;
    }
  }
  return !arguments->file.empty() && arguments->play.scale > 0 && arguments->play.window >= 4;
}

void Print(const calls::CallRecording& recording) {
  for (const calls::Record& record : recording.records()) {
    const calls::Call& call = recording.calls()[record.call];
    std::printf("%llu thread %u %s %u", static_cast<unsigned long long>(record.sequence),
                record.thread, call.name.c_str(), record.result);
    if (record.has_values) {
      for (const calls::Value& value : recording.Values(record)) {
        if (!value.present) {
          std::printf(" -");
        } else if (!value.bytes.empty()) {
          std::printf(" %zu bytes", value.bytes.size());
        } else if (!value.numbers.empty()) {
          std::printf(" [%llx]", static_cast<unsigned long long>(value.numbers[0]));
        } else {
          std::printf(" %llx", static_cast<unsigned long long>(value.number));
        }
      }
    }
    std::printf("\n");
  }
}

// One thread for each of the recording, of which the next call's one runs.
void PlayAll(const calls::CallRecording& recording, const Arguments& arguments, Player* player) {
  const auto& records = recording.records();
  std::uint32_t threads = 0;
  for (const calls::Record& record : records) threads = std::max(threads, record.thread + 1);
  std::mutex mutex;
  std::vector<std::condition_variable> turns(threads);
  std::size_t next = 0;
  std::mt19937_64 random(arguments.seed);
  std::uniform_int_distribution<std::uint64_t> pause(0, arguments.pause * 2);
  const auto run = [&](std::uint32_t thread) {
    bool prepared = false;
    std::unique_lock lock(mutex);
    while (next < records.size()) {
      if (records[next].thread != thread) {
        turns[thread].wait(lock);
        continue;
      }
      if (arguments.pause > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(pause(random)));
      }
      prepared = prepared || Player::PrepareThread();
      player->Play(records[next]);
      ++next;
      if (next == records.size()) {
        for (auto& turn : turns) turn.notify_one();
      } else {
        turns[records[next].thread].notify_one();
      }
    }
  };
  std::vector<std::thread> running;
  for (std::uint32_t thread = 0; thread < threads; ++thread) running.emplace_back(run, thread);
  for (std::thread& thread : running) thread.join();
}

int Main(const Arguments& arguments) {
  auto contents = ReadFile(arguments.file);
  if (!contents) {
    std::fprintf(stderr, "play_calls: %s\n", contents.error().message.c_str());
    return 2;
  }
  const auto recording = calls::CallRecording::Parse(*std::move(contents));
  if (!recording) {
    std::fprintf(stderr, "play_calls: %s: %s\n", arguments.file.c_str(),
                 recording.error().message.c_str());
    return 2;
  }
  if (arguments.print) {
    Print(*recording);
    return 0;
  }
  if (!LoadDriver()) return 1;
  Player player(*recording, arguments.play);
  PlayAll(*recording, arguments, &player);
  player.End();
  std::printf("%s%s%zu calls of %s\ndone\n", player.Summary().c_str(),
              recording->is_cut() ? "the recording is cut\n" : "", recording->records().size(),
              recording->program().c_str());
  std::fflush(stdout);
  if (arguments.wait) {
    sigset_t signals;
    int number = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigwait(&signals, &number);
  }
  return player.mismatches() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace reveza::recorded_calls

int main(int argc, char** argv) {
  using namespace reveza::recorded_calls;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Arguments arguments;
  if (!Parse(argc, argv, &arguments)) return Usage("wrong command line");
  const int status = Main(arguments);
  std::fflush(nullptr);
  _exit(status);
}
