#!/bin/sh
# As root: install-packages.sh update | install PACKAGE …
# The packages' own services must not start: no cluster is created, nothing is started now or at boot. The two files
# that ensure this are restored at the end.
set -eu
export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
apt="apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2"

if [ "$1" = update ]; then
  exec $apt update
fi
shift

policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.conf

# set_aside FILE: keeps FILE, or the fact that there is none, for put_back.
set_aside() {
  if [ ! -e "$1.mapwright-kept" ] && [ ! -e "$1.mapwright-none" ]; then
    if [ -e "$1" ]; then cp -p "$1" "$1.mapwright-kept"; else : >"$1.mapwright-none"; fi
  fi
}
put_back() {
  if [ -e "$1.mapwright-kept" ]; then mv -f "$1.mapwright-kept" "$1"; fi
  if [ -e "$1.mapwright-none" ]; then rm -f "$1" "$1.mapwright-none"; fi
}
restore() {
  put_back "$policy"
  if [ -e "$clusters.mapwright-none" ] && [ -e /usr/share/postgresql-common/createcluster.conf ]; then
    # There was none because the package was not here; what it brings takes the place of ours.
    rm -f "$clusters.mapwright-none"
    cp /usr/share/postgresql-common/createcluster.conf "$clusters"
  fi
  put_back "$clusters"
}
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

mkdir -p "$(dirname "$clusters")"
set_aside "$policy"
set_aside "$clusters"
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"
echo "create_main_cluster = false" >"$clusters"

had_redis=no
if [ -e /lib/systemd/system/redis-server.service ]; then had_redis=yes; fi

$apt install --no-install-recommends -o Dpkg::Options::=--force-confold "$@"

if [ "$had_redis" = no ] && [ -e /lib/systemd/system/redis-server.service ] && command -v systemctl >/dev/null; then
  systemctl disable redis-server.service || :
fi
