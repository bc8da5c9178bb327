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

// The time limit for all threads together.
constexpr std::time_t kDeadlineSeconds = 1;

// The frames of the handler and of the kernel's return from it.
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

// "function + offset (file + offset)": addr2line accepts the part in brackets.
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

// A request for the stack of a thread, completed by the thread's signal handler.
struct ThreadStacks::StackRequest {
  explicit StackRequest(pid_t thread) : id(thread) { ::sem_init(&completed, 0, 0); }
  ~StackRequest() { ::sem_destroy(&completed); }
  StackRequest(const StackRequest&) = delete;
  StackRequest& operator=(const StackRequest&) = delete;

  // Runs in the interrupted thread, so it may call only async-signal-safe functions; backtrace() is
  // one after its first call.
  static void handle(int, siginfo_t* info, void*) {
    const int error = errno;
    // Ignore signals from other processes.
    if (info->si_code == SI_QUEUE && info->si_pid == ::getpid()) {
      auto* request = static_cast<StackRequest*>(info->si_value.sival_ptr);
      request->count = ::backtrace(request->frames.data(), kMaximumFrames);
      ::sem_post(&request->completed);
    }
    errno = error;
  }

  bool send() {
    siginfo_t info{};
    info.si_code = SI_QUEUE;
    info.si_pid = ::getpid();
    info.si_uid = ::getuid();
    info.si_value.sival_ptr = this;
    return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), id, stack_signal(), &info) == 0;
  }

  bool wait(const timespec& until) {
    while (::sem_clockwait(&completed, CLOCK_MONOTONIC, &until) != 0) {
      if (errno != EINTR) return false;
    }
    return true;
  }

  bool is_complete() {
    int count = 0;
    return ::sem_getvalue(&completed, &count) == 0 && count > 0;
  }

  pid_t id;
  sem_t completed{};
  std::array<void*, kMaximumFrames> frames{};
  int count = 0;
};

ThreadStacks::ThreadStacks() {
  // The first call loads a library, which is not allowed in a signal handler.
  std::array<void*, 1> frame{};
  ::backtrace(frame.data(), static_cast<int>(frame.size()));
  struct sigaction action{};
  action.sa_sigaction = &StackRequest::handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (::sigaction(stack_signal(), &action, nullptr) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot install a signal handler");
  }
}

// A pending request must outlive this object, because its signal may arrive at any time.
ThreadStacks::~ThreadStacks() {
  for (auto& request : pending_) {
    if (request->is_complete()) continue;
    [[maybe_unused]] const StackRequest* leaked = request.release();
  }
}

std::vector<ThreadStacks::Stack> ThreadStacks::take() {
  std::erase_if(pending_, [](const auto& request) { return request->is_complete(); });
  std::vector<std::unique_ptr<StackRequest>> requests;
  for (const pid_t id : other_threads()) {
    auto request = std::make_unique<StackRequest>(id);
    if (request->send()) requests.push_back(std::move(request));
  }
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += kDeadlineSeconds;
  std::vector<Stack> stacks;
  for (auto& request : requests) {
    Stack& stack = stacks.emplace_back(request->id, thread_name(request->id));
    if (!request->wait(until)) {
      pending_.push_back(std::move(request));
      continue;
    }
    for (int i = kFramesOfHandler; i < request->count; ++i) {
      stack.frames.push_back(frame_text(request->frames[static_cast<std::size_t>(i)]));
    }
  }
  return stacks;
}

}  // namespace nodepool::telemetry
