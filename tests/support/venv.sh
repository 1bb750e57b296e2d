# Makes tests/.venv, on the first run and again when the list of packages changes, and sets $venv.
# Ends the script that sources it if there is no Python.

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
