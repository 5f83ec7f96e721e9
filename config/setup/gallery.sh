#!/bin/sh
# `npm run gallery [-- FOLDER]`: draws all pictures that have references, makes twelve maps of real data, and writes a page of
# each: gallery.html and maps.html; default data/gallery.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare test
GALLERY="${1:-data/gallery}"
mkdir -p "$GALLERY"
GALLERY="$(cd "$GALLERY" && pwd)"
export GALLERY
# Pictures that differ from their references are told, and shown all the same.
node dist/test/run.js reference || true
node dist/test/gallery.js "$GALLERY"
exec node dist/test/gallery/take.js "$GALLERY"
