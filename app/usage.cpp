#include "app/usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "io/nearest_name.hpp"

namespace mhd {
namespace {

/// The deepest command that was recognised.
const CLI::App& recognised_command(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : recognised_command(*commands.front());
}

/// "mhdsim bench step"
std::string words_of(const CLI::App& command) {
  return command.get_parent() ? words_of(*command.get_parent()) + " " + command.get_name() : command.get_name();
}

std::string unknown(const std::string& what, const std::string& word, const std::vector<std::string>& known) {
  return fmt::format("unknown {} {}; {}", what, word, name_hint(word, known));
}

/// The library's words, and better ones where it does not say what it found.
std::string what_is_wrong(const CLI::App& command, const std::vector<std::string>& rest, const CLI::ParseError& error) {
  std::vector<std::string> commands, options;
  for (const CLI::App* c : command.get_subcommands({})) commands.push_back(c->get_name());
  for (const CLI::Option* o : command.get_options())
    if (!o->get_lnames().empty()) options.push_back("--" + o->get_lnames().front());
  for (const std::string& word : rest)
    if (word.size() > 1 && word[0] == '-') return unknown("option", word.substr(0, word.find('=')), options);
  if (!commands.empty())
    return rest.empty() ? fmt::format("expected a command: {}", fmt::join(commands, ", "))
                        : unknown("command", rest.front(), commands);
  if (!rest.empty()) return fmt::format("unexpected argument {}", rest.front());
  return error.what();
}

}  // namespace

std::string usage_message(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = recognised_command(app);
  return fmt::format("{}\nRun '{} --help' for more information.", what_is_wrong(command, app.remaining(true), error),
                     words_of(command));
}

}  // namespace mhd
