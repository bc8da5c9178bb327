#pragma once

#include <iosfwd>
#include <memory>

namespace nodepool::cli {

// While it exists, whatever is written to the stream arrives as telemetry::harmless_text: what
// others have put into records, files and answers does not steer the terminal of who reads it.
class HarmlessOutput {
 public:
  // `stream` outlives this.
  explicit HarmlessOutput(std::ostream& stream);
  ~HarmlessOutput();
  HarmlessOutput(const HarmlessOutput&) = delete;
  HarmlessOutput& operator=(const HarmlessOutput&) = delete;

 private:
  class Filter;
  friend std::ostream& erase_line(std::ostream& stream);

  std::ostream& stream_;
  std::unique_ptr<Filter> filter_;
};

// Goes back to the beginning of the terminal's line and erases it: the one thing that this program
// tells a terminal. For streams that a HarmlessOutput guards.
std::ostream& erase_line(std::ostream& stream);

}  // namespace nodepool::cli
