# Runs pytest on the suite in "$suite" with the arguments given. Sourced by tests/*/run.
#
# The packages live in tests/.venv, which is made on the first run and again when the list changes.
# Which server is tested: $SHEAF_BIN, or else the newest of target/{release,debug}/sheaf.

set -euo pipefail

if ! command -v python3 >/dev/null; then
    echo "skipped: no Python"
    exit 0
fi

support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$support/../.venv
list=$support/requirements.txt

(
    if command -v flock >/dev/null; then flock 9; fi
    if ! cmp -s "$list" "$venv/installed.txt"; then
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$list"
        cp "$list" "$venv/installed.txt"
    fi
) 9<"$list"

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
