#include "coordination/path.h"

#include "coordination/error.h"

namespace nodepool::coordination {

namespace {

[[noreturn]] void refuse(std::string_view path, std::string_view why) {
  throw store_error(StoreError::Kind::invalid, path, why);
}

}  // namespace

void require_valid_path(std::string_view path) {
  if (path.empty() || path.front() != '/') refuse(path, "must start with '/'");
  if (path == "/") return;
  if (path.back() == '/') refuse(path, "must not end with '/'");
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view component = path.substr(start, end - start);
    if (component.empty()) refuse(path, "has an empty component");
    if (component == "." || component == "..") refuse(path, "has a relative component");
    for (const char c : component) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        refuse(path, "has a control character");
    }
    start = end + 1;
  }
}

std::string_view parent_path(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string join_path(std::string_view parent, std::string_view name) {
  std::string path(parent == "/" ? "" : parent);
  path += '/';
  path += name;
  return path;
}

bool is_within(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string_view relative_path(std::string_view path, std::string_view root) {
  if (path.size() == root.size()) return {};
  return path.substr(root == "/" ? 1 : root.size() + 1);
}

}  // namespace nodepool::coordination
