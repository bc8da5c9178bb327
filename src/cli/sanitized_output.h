#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

namespace nodepool::cli {

// While it exists, whatever is written to the stream arrives as telemetry::harmless_text: what
// others have put into records, files and answers does not steer the terminal of who reads it.
class SanitizedOutput {
 public:
  // `stream` outlives this.
  explicit SanitizedOutput(std::ostream& stream);
  ~SanitizedOutput();
  SanitizedOutput(const SanitizedOutput&) = delete;
  SanitizedOutput& operator=(const SanitizedOutput&) = delete;

 private:
  class Filter;
  friend void write_unfiltered(std::ostream& stream, std::string_view text);

  std::ostream& stream_;
  std::unique_ptr<Filter> filter_;
};

// What this program tells a terminal, and text that is known to be harmless. For streams that a
// SanitizedOutput guards.
void write_unfiltered(std::ostream& stream, std::string_view text);

// Goes back to the beginning of the terminal's line and erases it.
std::ostream& erase_line(std::ostream& stream);

// Erases the terminal's screen and begins at its top.
std::ostream& erase_screen(std::ostream& stream);

}  // namespace nodepool::cli
