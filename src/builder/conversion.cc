#include "builder/conversion.h"

#include <algorithm>

namespace nodepool::builder {

namespace {

struct Format {
  std::string_view name;    // of Nodepool, and the suffix of the file
  std::string_view driver;  // of qemu-img
  std::string_view options = {};
  bool is_supported_by_dib = false;
};

constexpr Format kFormats[] = {
    {.name = "raw", .driver = "raw", .is_supported_by_dib = true},
    {.name = "qcow2", .driver = "qcow2", .options = "compat=0.10", .is_supported_by_dib = true},
    // Azure requires disks of a fixed size and reads the size from the footer.
    {.name = "vhd",
     .driver = "vpc",
     .options = "subformat=fixed,force_size=on",
     .is_supported_by_dib = true},
    {.name = "vhdx", .driver = "vhdx"},
    {.name = "vmdk", .driver = "vmdk", .options = "subformat=streamOptimized"},
    {.name = "vdi", .driver = "vdi"},
};

// Possible sources, the preferred one first: raw needs no decoding.
constexpr std::string_view kSources[] = {"raw", "qcow2"};

const Format* find(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &Format::name);
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

bool requires_conversion(std::string_view format) {
  const Format* known = find(format);
  return known != nullptr && !known->is_supported_by_dib;
}

std::optional<std::string> conversion_source(const std::set<std::string>& formats,
                                             std::string_view format) {
  if (find(format) == nullptr) return std::nullopt;
  for (const std::string_view source : kSources) {
    if (formats.contains(std::string(source))) return std::string(source);
  }
  return std::nullopt;
}

bool is_obtainable(const std::set<std::string>& formats, const std::string& format) {
  return formats.contains(format) || conversion_source(formats, format);
}

std::optional<std::vector<std::string>> conversion(const std::string& output,
                                                   const std::set<std::string>& formats,
                                                   const std::string& format,
                                                   const std::string& target) {
  const std::optional<std::string> source = conversion_source(formats, format);
  if (!source) return std::nullopt;
  const Format& known = *find(format);
  std::vector<std::string> arguments{"qemu-img", "convert", "-f",
                                     *source,    "-O",      std::string(known.driver)};
  if (!known.options.empty()) {
    arguments.insert(arguments.end(), {"-o", std::string(known.options)});
  }
  arguments.insert(arguments.end(), {output + "." + *source, target});
  return arguments;
}

}  // namespace nodepool::builder
