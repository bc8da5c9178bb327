#include "cli/show.h"

#include <chrono>
#include <csignal>
#include <ostream>

#include "async/signals.h"
#include "cli/child.h"
#include "cli/sanitized_output.h"
#include "cli/store_installation.h"
#include "report/filter.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

using report::Detail;
using report::Format;
using report::Table;

// The minimum interval between two prints: people do not read faster.
constexpr auto kPrintInterval = std::chrono::milliseconds(100);

// Colours, fitting and an erased screen are for people.
bool is_read_by_people(const Context& context) {
  return context.out_is_terminal && !is_dumb(context.environment);
}

report::Style style_of(const Context& context, const Listing& listing) {
  report::Style style{.headers = listing.headers, .is_terminal = is_read_by_people(context)};
  if (!style.is_terminal) return style;
  style.colours = variable(context.environment, "NO_COLOR", "").empty();
  if (listing.format == Format::text) style.width = context.terminal_width();
  return style;
}

Detail detail_of(const Listing& listing, Detail usual) {
  const bool is_usual = listing.format == Format::text || listing.format == Format::names;
  return is_usual ? usual : Detail::wide;
}

Task<Table> wanted_rows(const Listing& listing, Detail detail, const Source& source) {
  Task<Table> making = source();
  const Table table = co_await std::move(making);
  co_return report::matching(table, listing.filters).with(detail);
}

Task<> show_changes(Context& context, Installation& installation, const Listing& listing,
                    Detail detail, const Source& source) {
  async::Event changed("the records have changed");
  const std::function<void()> observer = [&changed] { changed.set(); };
  const std::vector<coordination::Subscription> watching = co_await installation.watch(observer);
  bool is_first = true;
  while (true) {
    const Table table = co_await wanted_rows(listing, detail, source);
    if (is_read_by_people(context)) {
      context.out << erase_screen;
    } else if (!is_first) {
      context.out << '\n';
    }
    print(context, table, listing);
    context.out.flush();
    if (!context.out) co_return;  // the reader has ended; the program reports it
    is_first = false;
    co_await context.runtime.clock.sleep_for(kPrintInterval);
    co_await changed.wait();
  }
}

}  // namespace

void print(Context& context, const Table& table, const Listing& listing) {
  const report::Style style = style_of(context, listing);
  const std::string text = report::table_as(listing.format, table, style);
  if (style.colours) {
    write_unfiltered(context.out, text);
  } else {
    context.out << text;
  }
}

Task<int> show(Context& context, Installation& installation, Listing listing, Detail usual,
               Source source) {
  const Detail detail = detail_of(listing, usual);
  if (listing.watch) {
    async::Signals signals(context.runtime.executor,
                           async::unless_ignored({SIGINT, SIGTERM, SIGHUP}));
    Task<> showing = show_changes(context, installation, listing, detail, source);
    co_await signals.until_next(std::move(showing));
  } else {
    const Table table = co_await wanted_rows(listing, detail, source);
    print(context, table, listing);
  }
  co_return 0;
}

Task<int> show(Session& session, Listing listing, Detail usual, Source source) {
  StoreInstallation installation(session);
  co_return co_await show(session.context(), installation, std::move(listing), usual,
                          std::move(source));
}

}  // namespace nodepool::cli
