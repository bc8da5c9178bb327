#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::builder {

// Whether qemu-img makes the format, and diskimage-builder does not.
bool only_converted(std::string_view format);

// What qemu-img makes the format from if the formats are there; nothing if it cannot.
std::optional<std::string> conversion_source(const std::set<std::string>& formats,
                                             std::string_view format);

// Whether the format is there, or can be made from those that are.
bool is_obtainable(const std::set<std::string>& formats, const std::string& format);

// The arguments of qemu-img that make `<output>.<format>` from one of the formats that there are,
// and call it `target`; nothing if that cannot be done.
std::optional<std::vector<std::string>> conversion(const std::string& output,
                                                   const std::set<std::string>& formats,
                                                   const std::string& format,
                                                   const std::string& target);

}  // namespace nodepool::builder
