#include "program/log_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/support/temporary_directory.h"

namespace nodepool::program {
namespace {

using telemetry::LogLevel;
using telemetry::LogOptions;
using telemetry::LogTargetOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using Kind = LogTargetOptions::Kind;

class LogConfigTest : public testing::Test {
 protected:
  LogConfig load(const std::string& content, const std::string& name = "log.yaml") const {
    return load_log_config(directory_.write(name, content));
  }
  LogOptions options(const std::string& content) const { return load(content).options; }

  // The only target.
  LogTargetOptions target(const std::string& handler, const std::string& formatters = "") const {
    const LogOptions options =
        this->options(formatters + "handlers: {h: {" + handler + "}}\nroot: {handlers: [h]}\n");
    EXPECT_THAT(options.targets, SizeIs(1));
    return options.targets.at(0);
  }

  std::string refusal(const std::string& content, const std::string& name = "log.yaml") const {
    try {
      load(content, name);
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr(directory_.path() / name));
      return error.what();
    }
    return "accepted";
  }

  test_support::TemporaryDirectory directory_;
};

auto route(LogLevel level, const testing::Matcher<std::vector<std::size_t>>& targets) {
  return AllOf(Field(&telemetry::LogRoute::level, level),
               Field(&telemetry::LogRoute::targets, targets));
}

auto file(const std::string& name, LogLevel level) {
  return AllOf(Field(&LogTargetOptions::kind, Kind::file), Field(&LogTargetOptions::file, name),
               Field(&LogTargetOptions::level, level));
}

auto stream(Kind kind, LogLevel level) {
  return AllOf(Field(&LogTargetOptions::kind, kind), Field(&LogTargetOptions::level, level));
}

constexpr const char* kHandlers =
    "handlers:\n"
    "  console: {class: logging.StreamHandler, level: WARNING, stream: 'ext://sys.stdout'}\n"
    "  debug: {class: logging.handlers.WatchedFileHandler, filename: /tmp/debug, level: DEBUG}\n"
    "  normal: {class: logging.FileHandler, filename: /tmp/normal, level: INFO}\n";

TEST_F(LogConfigTest, all_handlers_of_a_logger_are_used_each_with_its_level) {
  const LogOptions options =
      this->options(std::string(kHandlers) +
                    "loggers: {nodepool: {level: DEBUG, handlers: [console, debug, normal]}}\n");
  EXPECT_THAT(options.targets, ElementsAre(stream(Kind::standard_output, LogLevel::warning),
                                           file("/tmp/debug", LogLevel::debug),
                                           file("/tmp/normal", LogLevel::info)));
  EXPECT_THAT(options.routes, ElementsAre(Pair("", route(LogLevel::debug, ElementsAre(0, 1, 2)))));
}

TEST_F(LogConfigTest, messages_also_go_to_the_handlers_of_the_parents_but_once) {
  const LogOptions options =
      this->options(std::string(kHandlers) +
                    "loggers:\n"
                    "  nodepool: {level: INFO, handlers: [normal, console]}\n"
                    "  nodepool.audit: {handlers: [debug], propagate: false}\n"
                    "  nodepool.driver: {level: ERROR}\n"
                    "root: {handlers: [console]}\n");
  EXPECT_THAT(options.targets, ElementsAre(stream(Kind::standard_output, LogLevel::warning),
                                           file("/tmp/normal", LogLevel::info),
                                           file("/tmp/debug", LogLevel::debug)));
  EXPECT_THAT(options.routes,
              ElementsAre(Pair("", route(LogLevel::info, ElementsAre(0, 1))),
                          Pair("nodepool.audit", route(LogLevel::info, ElementsAre(2))),
                          Pair("nodepool.driver", route(LogLevel::error, ElementsAre(0, 1)))));
}

TEST_F(LogConfigTest, the_root_counts_if_nodepool_is_not_configured) {
  const LogOptions options =
      this->options(std::string(kHandlers) + "root: {level: ERROR, handlers: [normal]}\n");
  EXPECT_THAT(options.routes, ElementsAre(Pair("", route(LogLevel::error, ElementsAre(0)))));
}

TEST_F(LogConfigTest, the_root_may_be_among_the_loggers) {
  for (const std::string name : {"''", "root"}) {
    const std::string loggers =
        std::string(kHandlers) + "loggers: {" + name + ": {level: ERROR, handlers: [normal]}}\n";
    for (const char* section : {"", "root: {}\n"}) {
      EXPECT_THAT(options(loggers + section).routes,
                  ElementsAre(Pair("", route(LogLevel::error, ElementsAre(0)))));
    }
    const LogOptions overridden = options(loggers + "root: {level: INFO, handlers: [debug]}\n");
    EXPECT_THAT(overridden.routes, ElementsAre(Pair("", route(LogLevel::info, ElementsAre(0)))));
    EXPECT_EQ(overridden.targets.at(0).file, "/tmp/debug");
  }
}

TEST_F(LogConfigTest, loggers_of_libraries_have_no_effect) {
  const LogConfig config = load(std::string(kHandlers) +
                                "loggers:\n"
                                "  kazoo: {level: WARN, handlers: [debug]}\n"
                                "  nodepools: {level: WARN, handlers: [debug]}\n"
                                "  nodepool: {level: INFO, handlers: [normal]}\n");
  EXPECT_THAT(config.options.targets, ElementsAre(file("/tmp/normal", LogLevel::info)));
  EXPECT_THAT(config.options.routes, SizeIs(1));
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST_F(LogConfigTest, a_null_handler_writes_nothing) {
  const LogOptions options = this->options(
      "handlers: {nothing: {class: logging.NullHandler}}\nroot: {handlers: [nothing]}\n");
  EXPECT_THAT(options.targets, IsEmpty());
  EXPECT_THAT(options.routes.at("").targets, IsEmpty());
}

TEST_F(LogConfigTest, without_handlers_messages_go_to_standard_error) {
  const LogOptions options = this->options("root: {level: INFO}\n");
  EXPECT_THAT(options.targets, ElementsAre(stream(Kind::standard_error, LogLevel::debug)));
  EXPECT_THAT(options.routes, ElementsAre(Pair("", route(LogLevel::info, ElementsAre(0)))));
}

TEST_F(LogConfigTest, a_logger_without_a_level_has_its_parents) {
  const auto levels = [this](const std::string& root) {
    std::vector<LogLevel> levels;
    const LogOptions options = this->options(
        "loggers: {nodepool: {level: INFO}, nodepool.driver: {}, nodepool.web: {level: NOTSET}}\n" +
        root);
    for (const auto& [name, route] : options.routes) levels.push_back(route.level);
    return levels;
  };
  EXPECT_THAT(levels("root: {level: ERROR}\n"),
              ElementsAre(LogLevel::info, LogLevel::info, LogLevel::info));
  const auto level = [this](const std::string& root) { return options(root).routes.at("").level; };
  EXPECT_EQ(level("root: {handlers: []}\n"), LogLevel::warning);
  EXPECT_EQ(level("root: {level: NOTSET}\n"), LogLevel::debug);
  EXPECT_EQ(level("root: {level: 0}\n"), LogLevel::debug);
}

TEST_F(LogConfigTest, levels_may_be_numbers) {
  const LogOptions options = this->options(
      "handlers: {h: {class: logging.StreamHandler, level: 25}}\n"
      "root: {level: 10, handlers: [h]}\n");
  EXPECT_EQ(options.routes.at("").level, LogLevel::debug);
  EXPECT_EQ(options.targets.at(0).level, LogLevel::warning);
}

TEST_F(LogConfigTest, json_is_understood) {
  const LogOptions options =
      load(R"({"version": 1, "handlers": {"out": {"class": "logging.StreamHandler", )"
           R"("stream": "ext://sys.stdout"}}, "root": {"level": "DEBUG", "handlers": ["out"]}})",
           "log.json")
          .options;
  EXPECT_EQ(options.targets.at(0).kind, Kind::standard_output);
  EXPECT_EQ(options.routes.at("").level, LogLevel::debug);
}

TEST_F(LogConfigTest, files_rotate) {
  const auto rotation = [this](const std::string& handler) {
    return target("filename: /tmp/x, class: logging.handlers." + handler).rotation;
  };
  const auto by_size = rotation("RotatingFileHandler, maxBytes: 1000, backupCount: 3");
  EXPECT_EQ(by_size.max_size, 1000U);
  EXPECT_EQ(by_size.backups, 3);
  const auto by_time = rotation("TimedRotatingFileHandler, when: h, interval: 6, utc: true");
  EXPECT_EQ(by_time.seconds, 6 * 3600);
  EXPECT_TRUE(by_time.utc);
  EXPECT_EQ(rotation("TimedRotatingFileHandler, when: W2").weekday, 2);
  EXPECT_THROW(rotation("TimedRotatingFileHandler, when: never"), std::runtime_error);
}

TEST_F(LogConfigTest, formatters_have_a_format_a_style_and_a_date_format) {
  const auto format = target("formatter: f",
                             "formatters: {f: {format: '{asctime} {message}', style: '{', "
                             "datefmt: '%H:%M'}}\n")
                          .format;
  EXPECT_EQ(format.format, "{asctime} {message}");
  EXPECT_EQ(format.style, '{');
  EXPECT_EQ(format.date_format, "%H:%M");
  EXPECT_FALSE(format.is_json);
  EXPECT_EQ(target("formatter: f", "formatters: {f: {}}\n").format.format,
            telemetry::LogFormatOptions().format);
}

TEST_F(LogConfigTest, formatters_of_json_write_json) {
  for (const char* kind : {"class", "()"}) {
    const auto format = target("formatter: f", std::string("formatters: {f: {'") + kind +
                                                   "': pythonjsonlogger.jsonlogger.JsonFormatter, "
                                                   "format: '%(message)s'}}\n")
                            .format;
    EXPECT_TRUE(format.is_json);
    EXPECT_EQ(format.format, "%(message)s");
  }
}

TEST_F(LogConfigTest, unsupported_parts_are_warnings) {
  const LogConfig config = load(
      "filters: {x: {}}\n"
      "formatters: {f: {class: my.ColorFormatter, format: '%(color)s'}}\n"
      "handlers:\n"
      "  h: {class: my.OwnHandler, filename: /tmp/x, mode: w, formatter: f}\n"
      "root: {handlers: [h]}\n");
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("OwnHandler"), HasSubstr("`mode: w`"),
                                           HasSubstr("ColorFormatter"), HasSubstr("`filters`")));
  EXPECT_EQ(config.options.targets.at(0).format.format, telemetry::LogFormatOptions().format);
}

TEST_F(LogConfigTest,
       messages_of_unsupported_handlers_go_to_standard_error_if_there_are_no_others) {
  const LogConfig config = load(
      "handlers:\n"
      "  mail: {class: logging.handlers.SMTPHandler, level: ERROR}\n"
      "  syslog: {class: logging.handlers.SysLogHandler}\n"
      "  nothing: {class: logging.NullHandler}\n"
      "  normal: {class: logging.FileHandler, filename: /tmp/normal}\n"
      "loggers:\n"
      "  nodepool: {handlers: [mail, syslog]}\n"
      "  nodepool.audit: {handlers: [nothing, mail], propagate: false}\n"
      "  nodepool.driver: {handlers: [normal]}\n");
  EXPECT_THAT(config.options.targets, ElementsAre(stream(Kind::standard_error, LogLevel::debug),
                                                  file("/tmp/normal", LogLevel::debug)));
  EXPECT_THAT(config.options.routes,
              ElementsAre(Pair("", route(LogLevel::warning, ElementsAre(0))),
                          Pair("nodepool.audit", route(LogLevel::warning, ElementsAre(0))),
                          Pair("nodepool.driver", route(LogLevel::warning, ElementsAre(1)))));
  EXPECT_THAT(config.warnings, SizeIs(2));
}

TEST_F(LogConfigTest, an_unsupported_handler_with_a_stream_writes_to_it) {
  EXPECT_EQ(target("class: my.OwnHandler, stream: 'ext://sys.stdout'").kind, Kind::standard_output);
}

TEST_F(LogConfigTest, a_configuration_that_makes_no_sense_is_an_error) {
  EXPECT_THAT(refusal("root: {level: LOUD}"), HasSubstr("unknown log level 'LOUD'"));
  EXPECT_THAT(refusal("root: {handlers: [x]}"), HasSubstr("unknown handler 'x'"));
  EXPECT_THAT(refusal("handlers: {h: {formatter: x}}\nroot: {handlers: [h]}"),
              HasSubstr("handler 'h': unknown formatter 'x'"));
  EXPECT_THAT(refusal("7"), HasSubstr("not a logging configuration"));
  EXPECT_THAT(refusal(std::string(70'000, '#')), HasSubstr("larger than 64 KiB"));
}

class IniLogConfigTest : public LogConfigTest {
 protected:
  // The target of a handler.
  LogTargetOptions target(const std::string& handler) const {
    const LogOptions options = load(
                                   "[loggers]\nkeys=root\n[handlers]\nkeys=h\n[formatters]\nkeys=\n"
                                   "[logger_root]\nhandlers=h\n[handler_h]\n" +
                                       handler,
                                   "logging.conf")
                                   .options;
    EXPECT_THAT(options.targets, SizeIs(1));
    return options.targets.at(0);
  }
};

TEST_F(IniLogConfigTest, all_sections_count) {
  const LogConfig config = load(
      "[loggers]\n"
      "keys=root, nodepool, kazoo, audit\n"
      "[handlers]\n"
      "keys=console, debug, normal\n"
      "[formatters]\n"
      "keys=simple\n"
      "[logger_root]\n"
      "level=WARNING\n"
      "handlers=console\n"
      "[logger_nodepool]\n"
      "level=DEBUG\n"
      "handlers=debug,normal\n"
      "qualname=nodepool\n"
      "[logger_kazoo]\n"
      "level=INFO\n"
      "handlers=debug\n"
      "qualname=kazoo\n"
      "[logger_audit]\n"
      "handlers=normal\n"
      "qualname=nodepool.audit\n"
      "propagate=0\n"
      "[handler_console]\n"
      "level=WARNING\n"
      "class=StreamHandler\n"
      "formatter=simple\n"
      "args=(sys.stdout,)\n"
      "[handler_debug]\n"
      "level=DEBUG\n"
      "class=logging.handlers.TimedRotatingFileHandler\n"
      "formatter=simple\n"
      "args=('/tmp/debug', 'midnight', 1, 30,)\n"
      "[handler_normal]\n"
      "level=INFO\n"
      "class=handlers.WatchedFileHandler\n"
      "args=('/tmp/normal',)\n"
      "[formatter_simple]\n"
      "format=%(asctime)s %(levelname)s: %(message)s\n"
      "datefmt=%H:%M\n",
      "logging.conf");
  EXPECT_THAT(config.warnings, IsEmpty());
  EXPECT_THAT(config.options.targets, ElementsAre(stream(Kind::standard_output, LogLevel::warning),
                                                  file("/tmp/debug", LogLevel::debug),
                                                  file("/tmp/normal", LogLevel::info)));
  EXPECT_THAT(config.options.routes,
              ElementsAre(Pair("", route(LogLevel::debug, ElementsAre(0, 1, 2))),
                          Pair("nodepool.audit", route(LogLevel::debug, ElementsAre(2)))));
  EXPECT_EQ(config.options.targets.at(0).format.format, "%(asctime)s %(levelname)s: %(message)s");
  EXPECT_EQ(config.options.targets.at(0).format.date_format, "%H:%M");
  const auto& rotation = config.options.targets.at(1).rotation;
  EXPECT_EQ(rotation.period, telemetry::LogRotation::Period::midnight);
  EXPECT_EQ(rotation.backups, 30);
}

TEST_F(IniLogConfigTest, arguments_are_literals_of_python) {
  const LogTargetOptions by_size = target(
      "class=handlers.RotatingFileHandler\n"
      "args=(\"/tmp/\" 'it\\'s', 'a',\n"
      "  10*1024*1024)\n"
      "kwargs={'backupCount': 5, 'delay': True}\n");
  EXPECT_EQ(by_size.file, "/tmp/it's");
  EXPECT_EQ(by_size.rotation.max_size, 10U * 1024 * 1024);
  EXPECT_EQ(by_size.rotation.backups, 5);
  EXPECT_TRUE(target("class=handlers.TimedRotatingFileHandler\n"
                     "args=('/tmp/x', 'h', 1, 0, None, False, True)\n")
                  .rotation.utc);
  EXPECT_EQ(target("class=StreamHandler\nargs=(sys.stderr,)\n").kind, Kind::standard_error);
  EXPECT_EQ(target("class=StreamHandler\n").kind, Kind::standard_error);
  EXPECT_EQ(target("class=handlers.SysLogHandler\n"
                   "args=(('localhost', handlers.SYSLOG_UDP_PORT), f())\n")
                .kind,
            Kind::standard_error);
}

TEST_F(IniLogConfigTest, values_may_refer_to_others) {
  EXPECT_EQ(
      target("dir=%(base)s/log\nbase=/tmp\nclass=FileHandler\nargs=('%(dir)s/100%%',)\n").file,
      "/tmp/log/100%");
}

TEST_F(IniLogConfigTest, a_file_that_makes_no_sense_is_an_error) {
  const auto refused = [this](const std::string& content) {
    return refusal(content, "logging.conf");
  };
  EXPECT_THAT(refused("version: 1\n"), HasSubstr("line 1: not in a section"));
  EXPECT_THAT(refused("[a]\nb\n"), HasSubstr("line 2: = is missing"));
  EXPECT_THAT(refused("[a]\nb=1\nB=2\n"), HasSubstr("line 3: repeats a key"));
  EXPECT_THAT(refused("[a]\n[a]\n"), HasSubstr("line 2: repeats a section"));
  EXPECT_THAT(refused("[formatters]\nkeys=a\n"), HasSubstr("[formatter_a] is missing"));
  const auto handler = [&refused](const std::string& text) {
    return refused(
        "[formatters]\n[handlers]\nkeys=h\n[loggers]\nkeys=root\n[logger_root]\n"
        "handlers=h\n[handler_h]\nclass=FileHandler\n" +
        text);
  };
  for (const char* arguments :
       {"(open('x'),)", "('x'", "('x", "(1 2)", "('x',) + ()", "(sys.x,)"}) {
    EXPECT_THAT(handler(std::string("args=") + arguments + "\n"),
                HasSubstr("[handler_h] only literals"))
        << arguments;
  }
  EXPECT_THAT(handler("args=('x')\n"), HasSubstr("`args` must be a tuple"));
  EXPECT_THAT(handler("args=" + std::string(100, '(') + "\n"), HasSubstr("only literals"));
  EXPECT_THAT(handler("args=('%(x)s',)\n"), HasSubstr("%(x)s cannot be replaced"));
  EXPECT_THAT(handler("args=%(args)s\n"), HasSubstr("%(args)s cannot be replaced"));
}

}  // namespace
}  // namespace nodepool::program
