#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "async/call_tracer.h"
#include "async/clock.h"
#include "driver/launch_trace.h"

namespace nodepool::driver {

// Collects the trace of one launch attempt, in bounded memory.
class LaunchRecorder final : public async::CallTracer {
 public:
  // The attempt begins now. `clock` outlives it.
  explicit LaunchRecorder(const async::Clock& clock) : clock_(clock), begun_(clock.now()) {}

  void called(const Call& call) override;
  void polled(std::string_view list) override;
  void poll_failed(std::string_view list, std::string_view reason) override;
  void connected(std::string_view to, std::string_view outcome) override;
  // `report` is called after each poll of a list, with its error or an empty text.
  void on_poll(std::function<void(std::string_view)> report) { report_poll_ = std::move(report); }
  // A step of the launch begins.
  void entered(std::string_view step);
  // The machine's console log, of which the end is kept.
  void console(std::string_view text);

  // Returns the events, the number of calls, the console log and the duration; the caller fills in
  // the other fields. The next attempt begins now.
  LaunchTrace take();

 private:
  double seconds() const;
  void add(TraceEvent event);

  const async::Clock& clock_;
  async::Clock::TimePoint begun_;
  LaunchTrace trace_;
  std::function<void(std::string_view)> report_poll_;  // empty: not set
};

// The end of a console log: at most 100 lines and 8 KiB, with control characters escaped.
std::string console_tail(std::string_view text);

}  // namespace nodepool::driver
