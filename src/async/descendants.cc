#include "async/descendants.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>

namespace nodepool::async {

namespace {

std::optional<pid_t> number_in(const std::string& text) {
  pid_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses "PID (NAME) STATE PARENT …". The name may contain parentheses and spaces.
std::optional<ProcessEntry> entry_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  const std::size_t begin = line.find('(');
  const std::size_t end = line.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(end + 1));
  char state = 0;
  ProcessEntry entry{.pid = pid, .parent = 0, .name = line.substr(begin + 1, end - begin - 1)};
  if (!(rest >> state >> entry.parent)) return std::nullopt;
  return entry;
}

using ByParent = std::multimap<pid_t, ProcessEntry>;

ByParent all_processes() {
  ByParent found;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::optional<pid_t> pid = number_in(entries->path().filename());
    if (!pid) continue;
    std::optional<ProcessEntry> entry = entry_of(*pid);
    if (!entry) continue;
    const pid_t parent = entry->parent;
    found.emplace(parent, *std::move(entry));
  }
  return found;
}

}  // namespace

std::vector<ProcessEntry> descendants() {
  const ByParent processes = all_processes();
  std::vector<ProcessEntry> found;
  const auto add_children = [&](pid_t parent) {
    const auto [begin, end] = processes.equal_range(parent);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  };
  add_children(::getpid());
  for (std::size_t next = 0; next < found.size(); ++next) add_children(found[next].pid);
  return found;
}

void signal_descendant(const ProcessEntry& process, int number) {
  const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0));
  if (handle < 0) return;
  // The handle refers to one process. Check that it is the intended one.
  const std::optional<ProcessEntry> now = entry_of(process.pid);
  const bool is_meant = now && (now->parent == process.parent || now->parent == ::getpid());
  if (is_meant) ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0);
  ::close(handle);
}

}  // namespace nodepool::async
