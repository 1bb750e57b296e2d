# Runs pytest on the suite in "$suite" with the arguments given. Sourced by tests/*/run.
#
# Which server is tested: $SHEAF_BIN, or else the newest of target/{release,debug}/sheaf.

set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/venv.sh"

# Without a path of its own, a run takes the whole suite.
here=$suite
for argument in "$@"; do
    case $argument in
        -*) ;;
        *) if [ -e "${argument%%::*}" ]; then here=; fi ;;
    esac
done

export PYTHONDONTWRITEBYTECODE=1
exec "$venv/bin/python" -m pytest -q -p no:cacheprovider --strict-markers ${here:+"$here"} "$@"
