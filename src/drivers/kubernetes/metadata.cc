#include "drivers/kubernetes/metadata.h"

#include <fmt/format.h>

#include "drivers/kubernetes/names.h"

namespace nodepool::drivers::kubernetes {

namespace {

constexpr std::string_view kOwn = "nodepool_";

bool fits(std::string_view key, std::string_view value) {
  return is_label_key(key) && is_label_value(value);
}

}  // namespace

Json object_metadata(const std::string& name, const driver::Metadata& attached) {
  Json metadata = {{"name", name}};
  for (const auto& [key, value] : attached) {
    if (fits(key, value)) {
      metadata["labels"][key] = value;
    } else if (key.starts_with(kOwn)) {
      metadata["annotations"][key] = value;
    }
  }
  return metadata;
}

driver::Metadata attached_to(const Element& object) {
  const Element metadata = object.object("metadata");
  driver::Metadata attached = metadata.texts("labels");
  for (const auto& [key, value] : metadata.texts("annotations")) {
    if (key.starts_with(kOwn)) attached.try_emplace(key, value);
  }
  return attached;
}

std::vector<std::string> no_labels(const driver::Metadata& wanted) {
  std::vector<std::string> wrong;
  for (const auto& [key, value] : wanted) {
    if (!fits(key, value) && !key.starts_with(kOwn))
      wrong.push_back(fmt::format("{}: {}", key, value));
  }
  return wrong;
}

}  // namespace nodepool::drivers::kubernetes
