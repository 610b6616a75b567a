#pragma once
// What is wrong with a command line, in words that help.

#include <CLI/CLI.hpp>
#include <string>

namespace mhd {

/// Two lines: the fault, with the nearest known name of a misspelt command or option, and which --help to ask.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mhd
