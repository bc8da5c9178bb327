#include "cli/manual/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string_view>

#include "cli/declaration.h"
#include "cli/manual/roff.h"

namespace nodepool::cli {

namespace {

// The text as a sentence: with a capital and a full stop.
std::string sentence(std::string_view text) {
  std::string result(text);
  if (!result.empty()) result.front() = static_cast<char>(std::toupper(result.front()));
  if (!result.ends_with('.')) result += '.';
  return result;
}

// "-o, --output"
std::string joined(const Option& option) {
  return fmt::format("{}", fmt::join(names_of(option), ", "));
}

std::string operand_usage(const Operand& operand) {
  using Count = Operand::Count;
  const bool many = operand.count == Count::several || operand.count == Count::any;
  const bool needed = operand.count == Count::one || operand.count == Count::several;
  const std::string name = operand.value.usage() + (many ? "..." : "");
  return needed ? name : "[" + name + "]";
}

std::string usage_of(const Declaration& declaration) {
  std::string usage = declaration.options.empty() ? "" : "[OPTIONS]";
  for (const Operand& operand : declaration.operands) {
    usage += (usage.empty() ? "" : " ") + operand_usage(operand);
  }
  if (declaration.read_rest) {
    usage += declaration.is_rest_required ? " -- COMMAND..." : " [-- COMMAND...]";
  }
  return usage;
}

void add_options(Roff& page, const std::vector<Option>& options) {
  for (const Option& option : options) {
    std::string help = sentence(option.help);
    if (option.is_required) help += " Required.";
    page.entry(joined(option), option.value.usage(), help);
  }
}

void add_command(Roff& page, const Declaration& declaration) {
  page.subsection("nodepool " + declaration.name);
  page.usage("nodepool " + declaration.name, usage_of(declaration));
  page.paragraph(sentence(declaration.summary));
  for (const Operand& operand : declaration.operands) {
    page.entry("", operand.value.usage(), sentence(operand.help));
  }
  add_options(page, declaration.options);
  if (!declaration.notes.empty()) page.paragraph(declaration.notes);
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

void add_see_also(Roff& page, std::string_view others) {
  page.section("SEE ALSO");
  page.paragraph(others);
  page.paragraph("The manual is in /usr/share/doc/nodepool.");
}

}  // namespace

std::string nodepool_page(const Release& release) {
  Roff page("nodepool", "1", release.date, "Nodepool " + release.version, "User Commands");
  page.section("NAME");
  page.paragraph("nodepool - request, inspect and manage machines on demand");
  page.section("SYNOPSIS");
  page.usage("nodepool", "[OPTIONS] COMMAND [OPTIONS] [ARGUMENTS]");
  page.section("DESCRIPTION");
  page.paragraph(
      "The commands use the store of the configuration, like the daemons, or with --url the "
      "request API. Long options may be abbreviated if they are unambiguous. On a terminal, tables "
      "have colours and fit its width; elsewhere they have no colours and their full width.");
  page.section("OPTIONS");
  page.paragraph("These may stand before or after the command:");
  add_options(page, common_options());
  page.entry("-h, --help", "", "Print the list of commands, or the help of the command.");
  page.entry("-V, --version", "", "Print the version.");
  std::string_view last;
  for (const Declaration& declaration : declarations()) {
    const std::string_view group = heading(declaration.group);
    if (group != last) page.section("COMMANDS: " + upper(group));
    last = group;
    add_command(page, declaration);
  }
  page.section("EXIT STATUS");
  page.paragraph(
      "0 on success, 1 on failure, 2 if the command line is invalid. Other values are listed with "
      "the command. For hold, delete, image-delete and dib-image-delete, something that does not "
      "exist is a failure only with --strict.");
  page.section("ENVIRONMENT");
  page.entry("NO_COLOR", "", "If it is not empty, tables on a terminal have no colours.");
  page.entry(
      "TERM", "",
      "If it is dumb, tables have no colours and their full width, --watch does not erase the "
      "screen, and waiting commands show no status line.");
  page.entry("TMPDIR", "", "Directory for the temporary files of run and ssh. By default /tmp.");
  page.entry("NODEPOOL_*", "", "Values that the configuration file refers to.");
  page.section("FILES");
  page.entry("/etc/nodepool/nodepool.yaml", "", "The configuration file.");
  add_see_also(page, "nodepool-launcher(8), nodepool-builder(8)");
  return page.text();
}

std::string daemon_page(const DaemonPage& about, const Release& release) {
  Roff page(about.name, "8", release.date, "Nodepool " + release.version, "System Administration");
  page.section("NAME");
  page.paragraph(about.name + " - " + about.summary);
  page.section("SYNOPSIS");
  page.usage(about.name, "[OPTIONS]");
  page.section("DESCRIPTION");
  for (const std::string& paragraph : about.sections) page.paragraph(paragraph);
  page.section("OPTIONS");
  for (const program::OptionHelp& option : about.options) {
    std::string help = sentence(option.help);
    if (!option.usual.empty()) help += " By default " + option.usual + ".";
    page.entry(option.names, option.value, help);
  }
  page.section("FILES");
  page.entry("/etc/nodepool/nodepool.yaml", "", "The configuration file.");
  page.entry("/var/lib/nodepool", "", "The embedded store and the history.");
  add_see_also(page, "nodepool(1), nodepool-launcher(8), nodepool-builder(8)");
  return page.text();
}

}  // namespace nodepool::cli
