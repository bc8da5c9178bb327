#include "builder/format_converter.h"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <utility>

#include "builder/conversion.h"

namespace nodepool::builder {

Task<> FormatConverter::convert(Conversion wanted, const BuildLog& log) {
  const std::string output = wanted.store.output(wanted.image, wanted.build_id);
  const std::string image = image_file(output, wanted.format);
  const std::string partial = partial_file(output, wanted.format);
  auto arguments = conversion(output, wanted.formats, wanted.format, partial);
  if (!arguments) throw std::runtime_error("no file from which " + image + " can be converted");
  std::string problem;
  std::exception_ptr cancelled;
  try {
    const ProgramEnd end = co_await run(*std::move(arguments), wanted.build_timeout, log);
    if (end.exit_code != 0) problem = description(end, wanted.build_timeout);
    const auto finish = [wanted, output] { wanted.store.finish_partial(output, wanted.format); };
    if (problem.empty()) co_await context_.threads.run("converted image", finish);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  } catch (const std::exception& error) {
    problem = error.what();
    log.write_line(problem);
  }
  if (!cancelled && problem.empty()) co_return;

  const auto clear = [wanted] {
    std::string found = wanted.store.shortage();
    try {
      wanted.store.remove_format(wanted.image, wanted.build_id, wanted.format);
    } catch (const std::runtime_error& error) {
      found += (found.empty() ? "" : "; ") + std::string(error.what());
    }
    return found;
  };
  const std::string found = co_await context_.threads.run("partial image", clear);
  if (cancelled) std::rethrow_exception(cancelled);
  throw std::runtime_error(fmt::format("creating {} with qemu-img failed: {}{}{}; see {}", image,
                                       problem, found.empty() ? "" : "; ", found,
                                       log.path().string()));
}

Task<ProgramEnd> FormatConverter::run(std::vector<std::string> arguments,
                                      std::int64_t build_timeout, const BuildLog& log) {
  return run_logged(context_, std::move(arguments), context_.environment, build_timeout, log);
}

}  // namespace nodepool::builder
