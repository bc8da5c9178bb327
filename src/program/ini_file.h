#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace nodepool::program {

// An INI file in the dialect of Python's configparser: keys in any case, "=" or ":" after them,
// values that continue on indented lines, whole-line comments, defaults in [DEFAULT].
class IniFile {
 public:
  // Throws std::runtime_error with the number of a line that is invalid, or repeats a section or a
  // key.
  explicit IniFile(std::string_view text);

  bool has_section(std::string_view section) const;

  // The value of a key, in lower case, as it is in the file; empty if it is missing.
  std::string raw(std::string_view section, std::string_view key) const;

  // Likewise, with %(key)s replaced by another value of the section, and %% by %. Throws
  // std::runtime_error if such a value is missing, or the result is too long.
  std::string value(std::string_view section, std::string_view key) const;

 private:
  using Section = std::map<std::string, std::string, std::less<>>;

  Section& add_section(std::string_view header, const std::string& problem);
  static std::string& add_key(Section& section, std::string_view line, const std::string& problem);
  const std::string* find(std::string_view section, std::string_view key) const;
  void append_interpolated(std::string_view section, std::string_view text, std::string& result,
                           int& replacements) const;

  std::map<std::string, Section, std::less<>> sections_;
};

}  // namespace nodepool::program
