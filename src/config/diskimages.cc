#include "config/diskimages.h"

#include <algorithm>

#include "config/names.h"
#include "config/wording.h"

namespace nodepool::config {

namespace {

constexpr const char* kNameHint =
    "file names contain it: no slash, no control characters, not `..`";

// Reported at the member that comes first in the file, whichever member the search began with.
ConfigError cycle_error(std::vector<const Section*> members) {
  const auto first = std::ranges::min_element(
      members, {}, [](const Section* member) { return member->value().mark(); });
  std::ranges::rotate(members, first);
  std::string cycle;
  for (const Section* member : members) cycle += in_quotes(member->text("name")) + " -> ";
  cycle += in_quotes(members.front()->text("name"));
  return members.front()->error("parent", "the parents form a cycle: " + cycle);
}

void replace_if_truthy(const Section& entry, std::string_view key, std::string& target) {
  const Value* value = entry.find(key);
  if (value != nullptr && value->truthy()) target = entry.text(key);
}

void replace_if_truthy(const Section& entry, std::string_view key, std::int64_t& target) {
  const Value* value = entry.find(key);
  if (value != nullptr && value->truthy()) target = entry.integer(key);
}

void replace_if_any(const Section& entry, std::string_view key, std::set<std::string>& target) {
  const std::vector<std::string> words = entry.texts(key);
  if (!words.empty()) target = {words.begin(), words.end()};
}

// Applies one entry on top of its ancestors. Each key has its own rule of inheritance.
void apply(const Section& entry, DiskImage& image) {
  entry.refuse_null("elements");
  entry.refuse_null("env-vars");
  for (std::string& element : entry.texts("elements")) image.elements.push_back(std::move(element));
  for (auto& [name, value] : entry.text_map("env-vars")) image.env_vars[name] = value;
  replace_if_any(entry, "formats", image.formats);
  replace_if_any(entry, "keep-formats", image.keep_formats);
  if (entry.has("delete-after-upload")) {
    image.delete_after_upload = entry.boolean("delete-after-upload");
  }
  if (entry.boolean("pause")) image.pause = true;
  replace_if_truthy(entry, "release", image.release);
  replace_if_truthy(entry, "rebuild-age", image.rebuild_age);
  replace_if_truthy(entry, "build-timeout", image.build_timeout);
  replace_if_truthy(entry, "username", image.username);
  replace_if_truthy(entry, "python-path", image.python_path);
  replace_if_truthy(entry, "builder", image.builder);
  replace_if_truthy(entry, "dib-cmd", image.dib_cmd);
  replace_if_truthy(entry, "command", image.command);
  if (const Value* shell = entry.find("shell-type"); shell != nullptr && shell->truthy()) {
    image.shell_type = entry.text("shell-type");
  }
  const Value* metadata = entry.find("metadata");
  image.metadata = metadata == nullptr ? Value() : *metadata;
}

}  // namespace

DiskImageFamily::DiskImageFamily(const std::vector<Section>& entries) : entries_(&entries) {
  for (const Section& entry : entries) by_name_.insert_or_assign(entry.text("name"), &entry);
}

std::vector<const Section*> DiskImageFamily::ancestors(const Section& entry) const {
  std::vector<const Section*> chain = {&entry};
  while (true) {
    const Section& child = *chain.back();
    const std::string parent = child.optional_text("parent").value_or("");
    if (parent.empty()) break;
    const auto found = by_name_.find(parent);
    if (found == by_name_.end()) {
      throw child.error("parent",
                        "the parent " + in_quotes(parent) + " of the disk image " +
                            in_quotes(child.text("name")) + " is not defined",
                        did_you_mean(parent, keys_of(by_name_)));
    }
    const auto again = std::ranges::find(chain, found->second);
    if (again != chain.end()) throw cycle_error({again, chain.end()});
    chain.push_back(found->second);
  }
  std::ranges::reverse(chain);
  return chain;
}

void DiskImageFamily::check(const Section& entry) const {
  const std::string name = entry.text("name");
  if (!is_part_of_path(name)) {
    throw entry.error("name", in_quotes(name) + " is not a valid image name", kNameHint);
  }
  for (const char* key : {"formats", "keep-formats"}) {
    for (const std::string& format : entry.texts(key)) {
      if (is_part_of_path(format)) continue;
      throw entry.error(key, in_quotes(format) + " is not a valid image format", kNameHint);
    }
  }
  if (!entry.boolean("abstract")) check_builder(entry);
}

void DiskImageFamily::check_builder(const Section& entry) const {
  std::string builder = "diskimage-builder";
  std::string command;
  for (const Section* ancestor : ancestors(entry)) {
    replace_if_truthy(*ancestor, "builder", builder);
    replace_if_truthy(*ancestor, "command", command);
  }
  if (builder != "diskimage-builder" && builder != "command") {
    throw entry.error("builder", "unknown builder " + in_quotes(builder),
                      "must be `diskimage-builder` or `command`");
  }
  if (builder == "command" && command.empty()) {
    throw entry.error("command", "is required with `builder: command`",
                      "set the command that builds the image");
  }
}

std::map<std::string, DiskImage> DiskImageFamily::resolve() const {
  std::map<std::string, DiskImage> images;
  for (const Section& entry : *entries_) {
    check(entry);
    if (entry.boolean("abstract")) continue;
    DiskImage image;
    for (const Section* ancestor : ancestors(entry)) apply(*ancestor, image);
    image.name = entry.text("name");
    images.insert_or_assign(image.name, std::move(image));
  }
  return images;
}

}  // namespace nodepool::config
