#!/usr/bin/env bash
# Builds and runs the tests: scripts/test.sh [--ci] [arguments of ctest, e.g. -L unit]. Installs what is missing.
# --ci builds with warnings as errors, in build/ci instead of build/release.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

preset=release
if [[ ${1:-} == --ci ]]; then
  preset=ci
  shift
fi

install_packages "${build_packages[@]}" "${picture_packages[@]}" "${test_packages[@]}"
configure "$preset" -DMHDSIM_TESTS=ON
build "$preset"
say "testing"
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(cores)" "$@" </dev/null
