#include "telemetry/log_record.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace nodepool::telemetry {

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

const auto kLoadTime = std::chrono::system_clock::now();

struct FieldReader {
  std::string_view name;
  LogField (*read)(const LogRecord& record);
};

// Reference: "LogRecord attributes" in Python's logging.
constexpr FieldReader kFieldReaders[] = {
    {"name", [](const LogRecord& record) -> LogField { return std::string(record.logger); }},
    {"levelname",
     [](const LogRecord& record) -> LogField { return std::string(name_of(record.level)); }},
    {"levelno", [](const LogRecord& record) -> LogField { return number_of(record.level); }},
    {"message", [](const LogRecord& record) -> LogField { return std::string(record.message); }},
    {"msg", [](const LogRecord& record) -> LogField { return std::string(record.message); }},
    {"created",
     [](const LogRecord& record) -> LogField {
       return std::chrono::duration<double>(record.time.time_since_epoch()).count();
     }},
    {"msecs",
     [](const LogRecord& record) -> LogField {
       const auto since =
           std::chrono::duration_cast<std::chrono::milliseconds>(record.time.time_since_epoch());
       return static_cast<double>(since.count() % std::milli::den);
     }},
    {"relativeCreated",
     [](const LogRecord& record) -> LogField {
       return Milliseconds(record.time - kLoadTime).count();
     }},
    {"process", [](const LogRecord&) -> LogField { return std::int64_t{::getpid()}; }},
    {"processName", [](const LogRecord&) -> LogField { return "MainProcess"; }},
    {"thread", [](const LogRecord&) -> LogField { return std::int64_t{::gettid()}; }},
    {"threadName", [](const LogRecord&) -> LogField { return "MainThread"; }},
    {"module", [](const LogRecord&) -> LogField { return "nodepool"; }},
    {"lineno", [](const LogRecord&) -> LogField { return 0; }},
};

}  // namespace

LogField field_of(const LogRecord& record, std::string_view name) {
  const auto* const found = std::ranges::find(kFieldReaders, name, &FieldReader::name);
  return found == std::end(kFieldReaders) ? LogField() : found->read(record);
}

}  // namespace nodepool::telemetry
