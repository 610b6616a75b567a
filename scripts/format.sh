#!/usr/bin/env bash
# Formats all C++ and CUDA sources in place; with --check only says which are not formatted, and fails. clang-format 14
# (Debian 12) decides where versions differ.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

clang_format=$(command -v clang-format-14 || command -v clang-format || true)
if [[ -z $clang_format ]]; then
  install_packages clang-format
  clang_format=$(command -v clang-format)
fi

mapfile -t sources < <(find core io gpu app tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null | sort)
case ${1:-} in
  --check) "$clang_format" --dry-run --Werror "${sources[@]}" && echo "${#sources[@]} files are formatted" ;;
  '') "$clang_format" -i "${sources[@]}" ;;
  *) die "usage: scripts/format.sh [--check]" ;;
esac
