#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "config/zuul/omissions.h"

namespace nodepool::config::zuul {

// Sets the key of a mapping under construction.
void set(Value::Mapping& mapping, std::string_view key, Value value);
// Sets `key` of the mapping `parent` in it, which is created if it is missing.
void set_below(Value::Mapping& mapping, std::string_view parent, std::string_view key, Value value);
// The same for all entries.
void append_below(Value::Mapping& mapping, std::string_view parent, const Value::Mapping& entries);

// A section of nodepool.yaml whose keys are converted one by one. finish() reports those that were
// not. Null and missing are the same, as in Section. Keeps references to the section's value and
// schema, and to the omissions.
class Source {
 public:
  Source(Section section, Omissions& omissions)
      : section_(std::move(section)), omissions_(&omissions) {}

  // The readers of the section, for a key that is thereby converted.
  const Section& use(std::string_view key);
  // Whether the file has the key.
  bool has(std::string_view key) const { return section_.has(key); }

  // Sets `as` in `target` to the value of `key`, converted to its type in the schema; nothing if
  // the file does not have it.
  void copy(std::string_view key, Value::Mapping& target, std::string_view as);
  void copy(std::string_view key, Value::Mapping& target) { copy(key, target, key); }
  // The same with the default of the schema.
  void copy_with_default(std::string_view key, Value::Mapping& target, std::string_view as);

  // copy() into the mapping `parent` of `target`.
  void copy_below(std::string_view key, Value::Mapping& target, std::string_view parent,
                  std::string_view as);

  // Nested sections.
  std::vector<Source> sources(std::string_view key);

  // Reports the key, or the whole section. `message` says what Zuul does and what to do instead.
  void omit(std::string_view key, std::string message);
  void omit_all(std::string message) const;
  // Reports all keys of the file that were not used, unless their value is the default or empty.
  void finish();

  const Section& section() const { return section_; }

 private:
  Section section_;
  Omissions* omissions_;
  std::set<std::string, std::less<>> used_;
};

}  // namespace nodepool::config::zuul
