#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

namespace nodepool::cli {

// While it exists, text written to the stream passes telemetry::sanitized_text(). So text from
// records, files and responses cannot control the user's terminal.
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

// Writes control sequences, or text that is known to be harmless, to a stream of a SanitizedOutput.
void write_unfiltered(std::ostream& stream, std::string_view text);

// Erases the terminal's current line and moves to its beginning.
std::ostream& erase_line(std::ostream& stream);

// Erases the terminal's screen and moves to its top.
std::ostream& erase_screen(std::ostream& stream);

}  // namespace nodepool::cli
