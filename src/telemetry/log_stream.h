#pragma once

#include <chrono>
#include <string_view>

namespace nodepool::telemetry {

// Writes to a stream of the process, whose reader may stall: a pipe to another program, a terminal.
class LogStream {
 public:
  // `patience`: how long a text waits for the reader; negative: without limit.
  LogStream(int descriptor, std::chrono::milliseconds patience)
      : descriptor_(descriptor), patience_(patience) {}

  // Writes complete lines. Throws std::runtime_error if the reader has stalled or the output fails:
  // the text, or its rest, is dropped then, and the next text starts on a new line. As long as the
  // reader is stalled, further texts do not wait.
  void write(std::string_view text);

 private:
  using Clock = std::chrono::steady_clock;

  void append(std::string_view text, Clock::time_point deadline);
  void await_reader(Clock::time_point deadline);

  int descriptor_;
  std::chrono::milliseconds patience_;
  bool is_stalled_ = false;  // the reader
  bool is_torn_ = false;     // the stream ends in the middle of a line
};

}  // namespace nodepool::telemetry
