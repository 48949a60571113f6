#!/bin/sh
# Makes sure that the packages of tools/packages-debian.txt are installed: as root it installs what is missing,
# as an ordinary user it says which line does, and stops. Silent when nothing is missing. Other distributions
# are left alone: there the build itself says what it does not find.
set -u
here=$(dirname "$0")
command -v dpkg-query >/dev/null || exit 0

missing=
for package in $(grep -v '^#' "$here/packages-debian.txt"); do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

install="apt-get install --no-install-recommends -y$missing"
if [ "$(id -u)" -ne 0 ]; then
  echo "These packages are missing. Install them (as root), then try again:" >&2
  echo "    $install" >&2
  exit 1
fi
echo "installing$missing"
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive $install; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install the packages (its whole output: $log)" >&2
  exit 1
fi
rm -f "$log"
