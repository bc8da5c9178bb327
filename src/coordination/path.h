#pragma once

#include <string>
#include <string_view>

namespace nodepool::coordination {

// Throws StoreError(invalid) unless `path` is absolute, without empty, "." or ".." components, a
// trailing slash, or control characters (ZooKeeper's rules).
void require_valid_path(std::string_view path);

// "/a/b" for "/a/b/c", "/" for "/a".
std::string_view parent_path(std::string_view path);

// "c" for "/a/b/c".
std::string_view base_name(std::string_view path);

// "/a/b" for ("/a", "b"), "/b" for ("/", "b").
std::string join_path(std::string_view parent, std::string_view name);

// Whether `path` is `root` or below it.
bool is_within(std::string_view path, std::string_view root);

// The part of `path` below `root` without a leading slash: "b/c" for ("/a/b/c", "/a"); empty for
// the root itself. `path` must be within `root`.
std::string_view relative_path(std::string_view path, std::string_view root);

}  // namespace nodepool::coordination
