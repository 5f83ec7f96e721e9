# Read by the scripts beside it, in the project's folder: the part of the set-up that needs no Node.

# prepare start|test|bench: brings packages, modules and the build up to date, or ends the script.
prepare() {
  if ! command -v node >/dev/null 2>&1 || ! command -v npm >/dev/null 2>&1; then
    echo "Mapwright needs Node.js 20 or 22 with npm; neither is on the PATH." >&2
    exit 1
  fi
  case "$(node --version)" in
  v20.[0-8].*) echo "Mapwright needs Node.js 20.9 or later; this is $(node --version)." >&2 && exit 1 ;;
  v20.* | v22.*) ;;
  *) echo "Mapwright needs Node.js 20 or 22; this is $(node --version)." >&2 && exit 1 ;;
  esac
  # In the background, so that a SIGTERM to this shell reaches the preparation at once and not after its end.
  node config/setup/prepare.js "$1" &
  preparation=$!
  trap 'kill -TERM "$preparation" 2>/dev/null || :' INT TERM HUP
  status=0
  wait "$preparation" || status=$?
  if kill -0 "$preparation" 2>/dev/null; then
    wait "$preparation" || :
  fi
  trap - INT TERM HUP
  [ "$status" -eq 0 ] || exit "$status"
}
