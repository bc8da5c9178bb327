#include "builder/image_builder.h"

#include <exception>
#include <filesystem>

#include "builder/conversion.h"

namespace nodepool::builder {

namespace {

std::set<std::string> existing(const std::string& output, const std::set<std::string>& formats) {
  std::set<std::string> found;
  for (const std::string& format : formats) {
    if (std::filesystem::is_regular_file(image_file(output, format))) found.insert(format);
  }
  return found;
}

}  // namespace

Task<BuildResult> ImageBuilder::build(BuildJob job) {
  BuildResult result;
  std::exception_ptr cancelled;
  try {
    result = co_await make_all(job);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  } catch (const std::exception& error) {
    result = {.kind = BuildResult::Kind::broken, .problem = error.what()};
  }
  if (!cancelled && result.kind == BuildResult::Kind::ready) co_return result;

  std::string clearing_problem;
  try {
    const auto clear = [job] {
      std::string found = job.store.shortage();
      job.store.remove(job.image.name, job.build_id);
      return found;
    };
    const std::string shortage = co_await context_.threads.run("files of a failed build", clear);
    if (!shortage.empty()) result.problem += "; " + shortage;
  } catch (const std::exception& error) {
    clearing_problem = error.what();
  }
  if (!clearing_problem.empty()) result.problem += "; " + clearing_problem;
  if (cancelled) std::rethrow_exception(cancelled);
  co_return result;
}

Task<BuildResult> ImageBuilder::make_all(const BuildJob& job) {
  const auto open_log = [job] {
    return std::make_shared<BuildLog>(job.logs, job.image.name, job.build_id);
  };
  const auto log = co_await context_.threads.run("build log", open_log);
  const std::set<std::string> to_make = formats_to_make(job.formats);
  ProgramEnd end;
  try {
    end = co_await make(job, to_make, *log);
  } catch (const std::exception& error) {
    log->write_line(error.what());
    throw;
  }
  if (end.exit_code != 0) {
    co_return BuildResult{.kind = BuildResult::Kind::failed,
                          .problem = description(end, job.image.build_timeout) +
                                     "; its output is in " + log->path().string(),
                          .exit_code = end.exit_code,
                          .lost_of_log = log->file()->lost(),
                          .log_problem = log->problem()};
  }
  co_await convert_missing(job, to_make, *log);
  const auto complete = [job] { job.store.complete(job.output(), job.formats); };
  co_await context_.threads.run("checksums of a build", complete);
  co_return BuildResult{.lost_of_log = log->file()->lost(), .log_problem = log->problem()};
}

Task<> ImageBuilder::convert_missing(const BuildJob& job, std::set<std::string> made,
                                     const BuildLog& log) {
  const std::string output = job.output();
  made.insert({"raw", "qcow2"});  // a program may create more formats than requested
  const std::set<std::string> found = existing(output, made);
  for (const std::string& format : job.formats) {
    if (found.contains(format)) continue;
    if (!conversion_source(found, format)) continue;  // reported as missing
    Task<> converting = converter_.convert({.store = job.store,
                                            .image = job.image.name,
                                            .build_id = job.build_id,
                                            .formats = found,
                                            .format = format,
                                            .build_timeout = job.image.build_timeout},
                                           log);
    co_await std::move(converting);
  }
  // Formats that were only created for conversions.
  const auto remove_surplus = [job, formats = formats_to_make(job.formats)] {
    for (const std::string& format : formats) {
      if (job.formats.contains(format)) continue;
      job.store.remove_format(job.image.name, job.build_id, format);
    }
  };
  co_await context_.threads.run("sources of conversions", remove_surplus);
}

Task<ProgramEnd> ImageBuilder::run(const BuildJob& job, std::vector<std::string> arguments,
                                   const Environment& environment, const BuildLog& log) {
  return run_logged(context_, std::move(arguments), environment, job.image.build_timeout, log);
}

}  // namespace nodepool::builder
