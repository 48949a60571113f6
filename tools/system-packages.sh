#!/bin/sh
# tools/system-packages.sh SECTION...: makes sure that the packages of these sections of tools/packages-debian.txt
# (build, test, demo) are installed: as root it installs what is missing, as an ordinary user it says which line
# does, and stops. Daemons are not started. Silent when nothing is missing; packages of other sections are not looked for. Other
# distributions are left alone: there the build itself says what it does not find.
set -u
list=$(dirname "$0")/packages-debian.txt
[ $# -gt 0 ] || { echo "$0: expected sections of $list" >&2; exit 2; }
wanted=
for section in "$@"; do
  grep -qx "\[$section\]" "$list" || { echo "$0: $list has no section [$section]" >&2; exit 2; }
  wanted="$wanted $(awk -v head="[$section]" '/^\[/ { inside = $0 == head; next } inside && !/^#/' "$list")"
done
command -v dpkg-query >/dev/null || exit 0

missing=
for package in $wanted; do
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
# Debian starts the daemons of a package, such as sshd, as soon as it is there; the tests start their own.
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d}
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy"
fi
echo "installing$missing"
log=$(mktemp)
if ! { apt-get update && DEBIAN_FRONTEND=noninteractive $install; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log" >&2
  echo "apt-get could not install the packages (its whole output: $log)" >&2
  exit 1
fi
rm -f "$log"
