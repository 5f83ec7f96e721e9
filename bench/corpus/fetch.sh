#!/bin/sh
# fetch.sh DIR: fills DIR with files of geodata that other people made: those in the sources of Debian packages and in
# npm packages. Nothing of them is run.
set -eu
dir=${1:?usage: fetch.sh DIR}
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
mkdir -p "$dir" "$here/lists/partial" "$here/archives/partial"

debian="librecad libxlsxwriter libkml qgis postgis mapserver"
npm="world-geojson@3.5.3 geojson-fixtures@1.0.0 shpjs@6.2.0"
wanted='\.(geojson|geojsonl|kml|kmz|shp|shx|dbf|prj|cpg|mif|mid|tab|dat|map|id|ind|xls|xlsx|dxf|csv|sxf|rsc|gpkg|gml|gpx|fgb|parquet|tif|tiff|tfw|wld|zip)$'

# Keeps the folders of an archive, as files of one name lie in several of them.
unpack() {
  tar -tf "$1" | grep -Ei "$wanted" >"$here/list" || return 0
  mkdir -p "$dir/$2"
  tar -xf "$1" -C "$dir/$2" --no-same-owner --no-same-permissions -T "$here/list"
}

echo "deb-src http://deb.debian.org/debian bookworm main" >"$here/sources.list"
set -- -qq -o "Dir::Etc::sourcelist=$here/sources.list" -o Dir::Etc::sourceparts=- \
  -o "Dir::State::lists=$here/lists" -o "Dir::Cache=$here" -o APT::Sandbox::User=root
apt-get "$@" update
for name in $debian; do
  [ -d "$dir/$name" ] && continue
  echo "$name"
  (cd "$here" && apt-get "$@" source --download-only "$name")
  unpack "$(ls "$here"/*.orig.tar.*)" "$name"
  rm -f "$here"/*.orig.tar.* "$here"/*.debian.tar.* "$here"/*.dsc "$here"/*.asc
done
for package in $npm; do
  name=${package%@*}
  [ -d "$dir/$name" ] && continue
  echo "$name"
  (cd "$here" && npm pack --silent "$package" >/dev/null)
  unpack "$(ls "$here"/*.tgz)" "$name"
  rm -f "$here"/*.tgz
done
