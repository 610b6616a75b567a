#include "app/cli.hpp"

int main(int argc, char** argv) { return mhd::run_command_line(argc, argv); }
