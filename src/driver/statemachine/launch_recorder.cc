#include "driver/statemachine/launch_recorder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "model/failure_text.h"
#include "telemetry/sanitized_text.h"

namespace nodepool::driver {

namespace {

using EventKind = TraceEvent::Kind;

// Events kept from the beginning (what was made) and the end (what failed).
constexpr std::size_t kFirstEvents = 40;
constexpr std::size_t kLastEvents = 40;

// Of each text of an event, in bytes.
constexpr std::size_t kLongestText = 200;

constexpr std::size_t kConsoleLines = 100;
constexpr std::size_t kConsoleBytes = 8 << 10;

constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

std::string clipped(std::string_view text) {
  std::string line = model::failure_text(text.substr(0, 4 * kLongestText));
  if (line.size() <= kLongestText) return line;
  std::size_t end = kLongestText;
  while (end > 0 && continues_character(line[end])) --end;
  return line.substr(0, end) + "…";
}

bool is_same(const TraceEvent& a, const TraceEvent& b) {
  return a.kind == b.kind && a.what == b.what && a.method == b.method && a.path == b.path &&
         a.status == b.status && a.outcome == b.outcome;
}

}  // namespace

void LaunchRecorder::called(const Call& call) {
  ++trace_.calls;
  add({.kind = EventKind::call,
       .what = clipped(call.name),
       .method = clipped(call.method),
       .path = clipped(call.path),
       .status = call.status,
       .id = clipped(call.id),
       .milliseconds = std::chrono::duration<double, std::milli>(call.taken).count()});
}

void LaunchRecorder::polled(std::string_view list) {
  add({.kind = EventKind::poll, .what = clipped(list)});
  if (report_poll_) report_poll_({});
}

void LaunchRecorder::poll_failed(std::string_view list, std::string_view reason) {
  add({.kind = EventKind::poll, .what = clipped(list), .outcome = clipped(reason)});
  if (report_poll_) report_poll_(reason);
}

void LaunchRecorder::connected(std::string_view to, std::string_view outcome) {
  add({.kind = EventKind::connection, .what = clipped(to), .outcome = clipped(outcome)});
}

void LaunchRecorder::entered(std::string_view step) {
  add({.kind = EventKind::step, .what = clipped(step)});
}

void LaunchRecorder::console(std::string_view text) {
  trace_.console = console_tail(text);
}

LaunchTrace LaunchRecorder::take() {
  LaunchTrace taken = std::exchange(trace_, {});
  taken.seconds = seconds();
  begun_ = clock_.now();
  return taken;
}

double LaunchRecorder::seconds() const {
  return std::chrono::duration<double>(clock_.now() - begun_).count();
}

void LaunchRecorder::add(TraceEvent event) {
  event.after = event.until = seconds();
  std::vector<TraceEvent>& events = trace_.events;
  if (!events.empty() && is_same(events.back(), event)) {
    TraceEvent& last = events.back();
    ++last.times;
    last.until = event.until;
    last.milliseconds = std::max(last.milliseconds, event.milliseconds);
    last.id = std::move(event.id);
    return;
  }
  if (events.size() >= kFirstEvents + kLastEvents) {
    events.erase(events.begin() + kFirstEvents);
    ++trace_.left_out;
  }
  events.push_back(std::move(event));
}

std::string console_tail(std::string_view text) {
  // Escaping makes the text no shorter.
  if (text.size() > kConsoleBytes) text.remove_prefix(text.size() - kConsoleBytes);
  std::string tail = telemetry::sanitized_text(text);
  while (tail.ends_with('\n')) tail.pop_back();
  std::size_t begin = tail.size() > kConsoleBytes ? tail.size() - kConsoleBytes : 0;
  while (begin < tail.size() && continues_character(tail[begin])) ++begin;
  std::size_t line = tail.size();
  for (std::size_t count = 0; count < kConsoleLines && line > begin; ++count) {
    const std::size_t newline = tail.rfind('\n', line - 1);
    if (newline == std::string::npos || newline < begin) return tail.substr(begin);
    line = newline;
  }
  return tail.substr(std::min(line + 1, tail.size()));
}

}  // namespace nodepool::driver
