#pragma once
// Catch2 of whichever version is installed: 2 (one header) or 3. Gives TEST_CASE, SECTION, REQUIRE, CHECK, ... alike.
// A main program defines MHD_CATCH_RUNNER first to get Catch::Session.

#if MHD_CATCH_VERSION >= 3
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#ifdef MHD_CATCH_RUNNER
#include <catch2/catch_session.hpp>
#endif
#else
#ifdef MHD_CATCH_RUNNER
#define CATCH_CONFIG_RUNNER
#endif
#include <catch2/catch.hpp>
#endif
