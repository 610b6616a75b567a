#!/usr/bin/env bash
# The CPU kernels are compiled once per instruction set. The linker keeps one copy of each inline function: a copy made
# for a wider set than the processor has must never be it. So each kernel object defines global symbols only in the
# namespace of its own instruction set. Usage: kernel_symbols.sh NM NAMESPACE OBJECT
set -euo pipefail
nm=$1 namespace=$2 object=$3
defined=$("$nm" -C --defined-only --extern-only "$object" | cut -d ' ' -f 3-)
grep -q "mhd::$namespace::kernels(" <<<"$defined" || { echo "$object defines no mhd::$namespace::kernels"; exit 1; }
if foreign=$(grep -v "mhd::$namespace::" <<<"$defined"); then
  printf '%s defines symbols outside of mhd::%s:\n%s\n' "$object" "$namespace" "$foreign"
  exit 1
fi
