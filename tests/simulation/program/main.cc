// Looks for seeds with which the simulation fails, on all cores, and replays them.
//
//   simulation [--seeds N] [--first SEED] [--jobs N]
//   simulation --seed SEED [--log]
//
// Without --first the seeds are fresh ones, other ones each time: what is printed replays them.

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "tests/simulation/harness/simulation.h"

namespace {

using nodepool::simulation::Report;
using nodepool::simulation::simulate;

// Of six to nine digits, for a person to read and type.
std::uint64_t draw_first_seed() {
  constexpr std::uint64_t kLeast = 100'000;
  constexpr std::uint64_t kMost = 999'999'999;
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>(kLeast, kMost)(device);
}

struct Arguments {
  std::string program;
  std::uint64_t first = 0;  // 0: fresh ones
  std::uint64_t seeds = 100;
  std::uint64_t jobs = std::max(1U, std::thread::hardware_concurrency());
  bool replays = false;
  bool logs = false;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  arguments.program = argv[0];
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--log") {
      arguments.logs = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a number");
    const std::uint64_t number = std::stoull(argv[++i]);
    if (option == "--seeds") {
      arguments.seeds = number;
    } else if (option == "--first") {
      arguments.first = number;
    } else if (option == "--jobs") {
      arguments.jobs = std::max<std::uint64_t>(1, number);
    } else if (option == "--seed") {
      arguments.first = number;
      arguments.replays = true;
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  if (arguments.first == 0) arguments.first = draw_first_seed();
  return arguments;
}

void print_violations(const Report& report) {
  std::cout << "seed " << report.seed << " fails:\n";
  for (const std::string& violation : report.violations) std::cout << "  " << violation << '\n';
  std::cout << std::flush;
}

bool replay(std::uint64_t seed, bool logs) {
  const Report report = simulate(seed, logs);
  for (const std::string& line : report.log) std::cout << line << '\n';
  if (!report.violations.empty()) print_violations(report);
  std::cout << fmt::format("seed {}: {} events, {} violations, hash {:016x}\n", seed, report.events,
                           report.violations.size(), report.log_hash);
  return report.violations.empty();
}

void print_first_violation(const Report& report, const std::string& program) {
  std::cout << fmt::format("seed {} fails: {}\n  replay it: {} --seed {} --log\n", report.seed,
                           report.violations.front(), program, report.seed)
            << std::flush;
}

// What many runs have come to.
class Summary {
 public:
  explicit Summary(std::string program) : program_(std::move(program)) {}

  void add(const Report& report) {
    const std::lock_guard lock(mutex_);
    for (const auto& [what, number] : report.counts) totals_[what] += number;
    ++seeds_;
    hours_ += report.virtual_hours;
    events_ += report.events;
    if (report.violations.empty()) return;
    ++failed_;
    print_first_violation(report, program_);
  }

  // Returns whether all went well.
  bool print() const {
    for (const auto& [what, number] : totals_) {
      std::cout << fmt::format("{:>12}  {}\n", number, what);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    std::cout << fmt::format("{} seeds, {} events, {:.1f} virtual hours, {} failed, {:.0f} s\n",
                             seeds_, events_, hours_, failed_, took.count());
    return failed_ == 0;
  }

 private:
  std::string program_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> totals_;
  std::uint64_t seeds_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t events_ = 0;
  double hours_ = 0;
};

// A run that takes longer, of a few seconds at most, does not end: something is done over and over
// in it while no virtual time passes. In seconds of the processor, however many want it.
constexpr double kLongestRun = 120;

double seconds_of(clockid_t processor_time) {
  timespec time{};
  ::clock_gettime(processor_time, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// Which seeds are being run, and for how long.
class Watch {
 public:
  Report run(std::uint64_t seed) {
    clockid_t time_of_thread{};
    ::pthread_getcpuclockid(::pthread_self(), &time_of_thread);
    {
      const std::lock_guard lock(mutex_);
      running_.emplace(seed, Run{time_of_thread, seconds_of(time_of_thread)});
    }
    Report report = simulate(seed);
    const std::lock_guard lock(mutex_);
    running_.erase(seed);
    return report;
  }

  // Ends the program when a run does not end: a thread cannot be stopped from outside.
  void look(const std::string& program) {
    const std::lock_guard lock(mutex_);
    for (const auto& [seed, run] : running_) {
      if (seconds_of(run.time_of_thread) - run.began < kLongestRun) continue;
      std::cout << fmt::format("seed {} fails: it does not end\n  replay it: {} --seed {}\n", seed,
                               program, seed)
                << std::flush;
      std::_Exit(EXIT_FAILURE);
    }
  }

 private:
  struct Run {
    clockid_t time_of_thread;
    double began;  // by that
  };

  std::mutex mutex_;
  std::map<std::uint64_t, Run> running_;
};

// Each so many seeds, one is run twice: only if the same seed gives the same run can it be
// replayed.
constexpr std::uint64_t kRepeatedOf = 20;

Report run(Watch& watch, std::uint64_t seed) {
  Report report = watch.run(seed);
  if (seed % kRepeatedOf == 0 && watch.run(seed).log_hash != report.log_hash) {
    report.violations.emplace_back("the same seed gives another run when it is run again");
  }
  return report;
}

// Runs share nothing, so each thread has its own.
bool search(const Arguments& arguments) {
  std::cout << fmt::format("{} --first {} --seeds {}\n", arguments.program, arguments.first,
                           arguments.seeds)
            << std::flush;
  Summary summary(arguments.program);
  Watch watch;
  std::atomic<std::uint64_t> next = 0;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < arguments.seeds; i = next++) {
      summary.add(run(watch, arguments.first + i));
    }
  };
  {
    const std::jthread watcher([&](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      while (!ended.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; })) {
        if (stop.stop_requested()) return;
        watch.look(arguments.program);
      }
    });
    std::vector<std::jthread> threads;
    for (std::uint64_t i = 0; i < arguments.jobs; ++i) threads.emplace_back(work);
  }
  return summary.print();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments arguments = parse(argc, argv);
    const bool passed =
        arguments.replays ? replay(arguments.first, arguments.logs) : search(arguments);
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
