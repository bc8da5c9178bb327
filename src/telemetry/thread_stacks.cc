#include "telemetry/thread_stacks.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace nodepool::telemetry {

namespace {

constexpr std::size_t kMaximumFrames = 64;

// How long threads may take to answer, together.
constexpr std::time_t kDeadlineSeconds = 1;

// Of the handler itself and of the kernel's return from it.
constexpr int kFramesOfHandler = 2;

int stack_signal() {
  return SIGRTMIN;
}

std::string thread_name(pid_t id) {
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

std::vector<pid_t> other_threads() {
  std::vector<pid_t> ids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const auto id = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (id != ::gettid()) ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

std::string demangled(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

// "function + offset (file + offset)": the part in brackets is what addr2line takes.
std::string frame_text(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0) return fmt::format("{}", address);
  const auto offset = [address](const void* start) {
    return static_cast<const char*>(address) - static_cast<const char*>(start);
  };
  const std::string file = std::filesystem::path(info.dli_fname).filename();
  std::string place = fmt::format("{} + {:#x}", file, offset(info.dli_fbase));
  if (info.dli_sname == nullptr) return place;
  return fmt::format("{} + {:#x} ({})", demangled(info.dli_sname), offset(info.dli_saddr), place);
}

}  // namespace

// Asked of one thread. Its handler fills it in.
struct ThreadStacks::Question {
  explicit Question(pid_t thread) : id(thread) { ::sem_init(&answered, 0, 0); }
  ~Question() { ::sem_destroy(&answered); }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  // In the thread that was asked, at any point of its work: async-signal-safe functions only, which
  // backtrace() is once it has been called.
  static void answer(int, siginfo_t* info, void*) {
    const int error = errno;
    // A signal that somebody else has sent is no question.
    if (info->si_code == SI_QUEUE && info->si_pid == ::getpid()) {
      auto* question = static_cast<Question*>(info->si_value.sival_ptr);
      question->count = ::backtrace(question->frames.data(), kMaximumFrames);
      ::sem_post(&question->answered);
    }
    errno = error;
  }

  bool ask() {
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_value.sival_ptr = this;
    return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), id, stack_signal(), &info) == 0;
  }

  bool wait(const timespec& until) {
    while (::sem_clockwait(&answered, CLOCK_MONOTONIC, &until) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }

  bool was_answered() {
    int count = 0;
    return ::sem_getvalue(&answered, &count) == 0 && count > 0;
  }

  pid_t id;
  sem_t answered{};
  std::array<void*, kMaximumFrames> frames{};
  int count = 0;
};

ThreadStacks::ThreadStacks() {
  // The first call loads a library, which no signal handler may do.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), static_cast<int>(frame.size()));
  struct sigaction action{};
  action.sa_sigaction = &Question::answer;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (::sigaction(stack_signal(), &action, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "installing a signal handler");
  }
}

// A question that is still open must outlive this object: its answer may come at any time.
ThreadStacks::~ThreadStacks() {
  for (auto& question : unanswered_) {
    if (question->was_answered()) continue;
    [[maybe_unused]] const Question* left_behind = question.release();
  }
}

std::vector<ThreadStacks::Stack> ThreadStacks::take() {
  std::erase_if(unanswered_, [](const auto& question) { return question->was_answered(); });
  std::vector<std::unique_ptr<Question>> questions;
  for (const pid_t id : other_threads()) {
    auto question = std::make_unique<Question>(id);
    if (question->ask()) questions.push_back(std::move(question));
  }
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += kDeadlineSeconds;
  std::vector<Stack> stacks;
  for (auto& question : questions) {
    Stack& stack = stacks.emplace_back(question->id, thread_name(question->id));
    if (!question->wait(until)) {
      unanswered_.push_back(std::move(question));
      continue;
    }
    for (int i = kFramesOfHandler; i < question->count; ++i) {
      stack.frames.push_back(frame_text(question->frames[static_cast<std::size_t>(i)]));
    }
  }
  return stacks;
}

}  // namespace nodepool::telemetry
