#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::builder {

// Whether qemu-img supports the format and diskimage-builder does not.
bool requires_conversion(std::string_view format);

// The format of `formats` from which qemu-img can convert. Returns nothing if there is none.
std::optional<std::string> conversion_source(const std::set<std::string>& formats,
                                             std::string_view format);

// Whether the format is among `formats` or can be converted from one of them.
bool is_obtainable(const std::set<std::string>& formats, const std::string& format);

// The arguments of qemu-img that convert `<output>.<one of formats>` to `format` in the file
// `target`. Returns nothing if that is not possible.
std::optional<std::vector<std::string>> conversion(const std::string& output,
                                                   const std::set<std::string>& formats,
                                                   const std::string& format,
                                                   const std::string& target);

}  // namespace nodepool::builder
