#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "async/call_tracer.h"
#include "async/clock.h"
#include "driver/launch_trace.h"

namespace nodepool::driver {

// Collects, in memory and within bounds, what happens during one attempt at a launch.
class LaunchRecorder final : public async::CallTracer {
 public:
  // The attempt begins now. `clock` outlives it.
  explicit LaunchRecorder(const async::Clock& clock) : clock_(clock), begun_(clock.now()) {}

  void called(const Call& call) override;
  void looked(std::string_view list) override;
  void connected(std::string_view to, std::string_view outcome) override;
  // Something of the launch begins.
  void entered(std::string_view step);
  // What the machine has written to its console, of which the end is kept.
  void console(std::string_view text);

  // What has been collected, and how long it took; what is known only at the end is the caller's.
  // The next attempt begins now.
  LaunchTrace take();

 private:
  double seconds() const;
  void add(TraceEvent event);

  const async::Clock& clock_;
  async::Clock::TimePoint begun_;
  LaunchTrace trace_;
};

// The end of a console: its last lines, a hundred and 8 KiB at most, with control characters as
// escapes.
std::string console_tail(std::string_view text);

}  // namespace nodepool::driver
