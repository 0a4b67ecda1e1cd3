#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing:  packages.sh GROUP...
set -euo pipefail
cd "$(dirname "$0")/.."

missing=()
for group in "$@"; do
  for package in $(sed 's/#.*//' packages.txt | awk -v group="$group" '$1 == group { print $2 }'); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
  done
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "error: missing packages: ${missing[*]}" >&2
  echo "  fix  this is not a Debian system; install what these provide by hand (packages.txt)" >&2
  exit 1
fi
as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "error: missing packages: ${missing[*]}" >&2
    echo "  fix  as root: apt-get update && apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}"
