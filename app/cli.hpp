#pragma once

namespace mhd {

/// The whole program: parses the command line, runs the command, returns the exit code (core/error.hpp).
int run_command_line(int argc, char** argv);

}  // namespace mhd
