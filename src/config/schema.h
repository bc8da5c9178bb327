#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

// A schema describes the keys of a section of nodepool.yaml as data. Derived from it: the strict
// check and the warnings of the daemons (config/check.h), the values with their defaults
// (config/section.h), the reference tables of the manual (config/reference.h) and the JSON Schema
// for editors (config/json_schema.h).
//
//   const Schema& node_schema() {
//     static const Schema schema{
//         .description = "One host.",
//         .fields = {
//             {.key = "name", .type = string(), .required = Required::always,
//              .description = "Host name or address."},
//             {.key = "timeout", .type = integer(), .default_value = "5", .unit = "seconds",
//              .description = "How long to wait for the host."},
//             {.key = "labels", .type = one_of({list_of(label_name()), label_names()}),
//              .required = Required::always, .description = "The labels the host serves."},
//         }};
//     return schema;
//   }
//
// The strings are views: use literals.

namespace nodepool::config {

struct Schema;

// The type of a value. Create it with the functions below.
struct Type {
  enum class Kind {
    anything,
    null,
    boolean,
    integer,         // booleans count as 0 and 1, as they do in Python
    number,          // a literal with a point, or .inf: `30` is refused by the strict check
    lenient_number,  // an integer, a number, or text that reads as one
    string,
    duration,  // whole seconds, or a text like `10m` (config/duration.h)
    list,      // of parts[0]
    mapping,   // from any string to parts[0]
    section,   // a mapping with the keys of a schema
    one_of,    // any of parts
  };
  // What a string refers to in the file.
  enum class Refers { to_nothing, to_label, to_labels_by_space, to_diskimage };

  Kind kind = Kind::anything;
  std::vector<Type> parts = {};
  std::shared_ptr<const Schema> section = nullptr;
  std::vector<std::string_view> words = {};  // the allowed strings; empty: any
  std::string_view pattern = {};             // ECMAScript, for the whole string; empty: any
  std::string_view meaning = {};             // of the pattern, to complete "must be …"
  std::optional<std::int64_t> minimum = {};
  std::optional<std::int64_t> maximum = {};
  Refers refers = Refers::to_nothing;
};

Type anything();
Type nothing();  // an explicit null, as part of one_of()
Type boolean();
Type integer();
Type integer_between(std::int64_t minimum, std::int64_t maximum);
Type number();
Type lenient_number();
Type string();
Type string_matching(std::string_view pattern, std::string_view meaning);
Type duration();
Type word(std::vector<std::string_view> words);
Type label_name();      // a string that names an entry of the top-level `labels`
Type label_names();     // the same, several separated by spaces
Type diskimage_name();  // a string that names a non-abstract entry of the top-level `diskimages`
Type list_of(Type item);
Type mapping_of(Type value);
Type section(Schema schema);
Type one_of(std::vector<Type> alternatives);

// Where a missing key is an error.
enum class Required {
  never,
  strictly,  // in the strict check; a daemon starts without it
  always,    // for daemons too
};

// Where a key is accepted.
enum class Accepted {
  everywhere,
  by_daemons,  // not by the strict check; for existing files
};

// One key of a section.
struct Field {
  std::string_view key = {};
  Type type = {};
  Required required = Required::never;
  Accepted accepted = Accepted::everywhere;
  // The value if the key is missing or null, written as in YAML. Empty: none.
  std::string_view default_value = {};
  // For the manual, where the default is not a plain value: "the provider's value", "unlimited".
  std::string_view default_note = {};
  std::string_view unit = {};         // e.g. "seconds"
  std::string_view description = {};  // mandatory; sentences, Markdown
  std::string_view deprecated = {};   // what to use instead; empty: the key is not deprecated
};
using Fields = std::vector<Field>;

// The same for any number of lists.
Fields joined(std::initializer_list<Fields> lists);

// The same field, required or accepted elsewhere.
Field with(Field field, Required required);
Field with(Field field, Accepted accepted);

// A condition on several keys of one section. A key with a null value counts as absent.
struct Rule {
  enum class Kind {
    exactly_one,
    at_least_one,
    at_most_one,
    excludes,  // the first key cannot be combined with the others
  };
  Kind kind = Kind::exactly_one;
  std::vector<std::string_view> keys = {};
};

// Keys that a section accepts without listing them.
struct OtherKeys {
  Type type = {};
  std::string_view description = {};
};

// The default of a field; nothing if it has none.
std::optional<Value> default_of(const Field& field);

// The keys of one section.
struct Schema {
  std::string_view description = {};
  Fields fields = {};
  std::optional<OtherKeys> other_keys = {};  // none: an unlisted key is a problem
  std::vector<Rule> rules = {};

  // The field of that key; nullptr if it is not listed.
  const Field* find(std::string_view key) const;
};

// Both lists. For a key in both, the field of `overlay` replaces the one of `base`.
Fields joined(Fields base, const Fields& overlay);

// The configuration schemas of this program's drivers.
struct DriverSchemas {
  // By the name in `driver:`, the schema of the provider section without the common keys
  // (config/nodepool_schema.h adds those). The schemas must outlive this.
  std::map<std::string, const Schema*, std::less<>> schemas = {};
};

}  // namespace nodepool::config
