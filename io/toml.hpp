#pragma once
// toml++, whichever of its two names the installed version has. Only io/config_*.cpp include this. Its implementation
// is compiled once, in io/toml.cpp, because it takes long.

#define TOML_HEADER_ONLY 0
#define TOML_ENABLE_FORMATTERS 0
#if __has_include(<toml++/toml.hpp>)
#include <toml++/toml.hpp>
#else
#include <toml++/toml.h>
#endif
