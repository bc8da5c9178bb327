#pragma once

#include <cstddef>
#include <string>
#include <vector>

// The trace of a launch attempt: its steps, calls and result.
namespace nodepool::driver {

// One event. Identical consecutive events are merged. Contains no secrets: neither headers nor
// bodies of calls.
struct TraceEvent {
  enum class Kind {
    step,        // step `what` has begun
    call,        // call `what` of the cloud
    poll,        // listing `what`, which is shared with other launches
    connection,  // connection to `what`, an address of the machine, with `outcome`
  };

  Kind kind = Kind::step;
  double after = 0;  // seconds since the attempt began
  std::string what = {};
  std::string outcome = {};
  std::string method = {};  // of a call; empty if the cloud's client is no HTTP client
  std::string path = {};
  int status = 0;           // 0: no response
  std::string id = {};      // the cloud's request id of the last call, to search its logs
  double milliseconds = 0;  // of the longest call
  std::size_t times = 1;
  double until = 0;  // seconds since the attempt began, of the last event
};

// One complete attempt. Its size is bounded.
struct LaunchTrace {
  std::size_t attempt = 1;
  std::size_t attempts = 1;  // maximum number
  bool resumed = false;      // another launcher has begun it; its part of the trace is lost
  double seconds = 0;        // in this launcher
  std::string result;        // a word of launch_metrics.h
  std::string failure;       // empty: the machine is ready
  std::size_t calls = 0;     // of the cloud, in total
  std::vector<TraceEvent> events;
  std::size_t left_out = 0;  // events dropped from the middle
  std::string console;       // end of the console log; empty: not read
};

// A summary for the history: "attempt 1 of 3 failed after 31.0 s, 4 cloud call(s): …".
std::string summary(const LaunchTrace& trace);

// The trace as a JSON object, for the history. Without events if the attempt succeeded.
std::string to_json(const LaunchTrace& trace);

}  // namespace nodepool::driver
