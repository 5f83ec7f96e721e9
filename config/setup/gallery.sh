#!/bin/sh
# `npm run gallery [-- FOLDER]`: draws all pictures that have references and writes one page of them; default data/gallery.
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
exec node dist/test/gallery.js "$GALLERY"
