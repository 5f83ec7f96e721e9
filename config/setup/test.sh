#!/bin/sh
# `npm test [-- part of a file name …]`: prepares what is missing, checks the sources, runs the suite.
set -eu
cd "$(dirname "$0")/../.."
. config/setup/prepare.sh
prepare test
npm run --silent check
exec node dist/test/run.js "$@"
