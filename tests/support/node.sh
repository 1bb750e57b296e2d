# Installs the JavaScript SDKs into tests/js/node_modules, on the first run and again when
# package.json changes.

(
    cd "$(dirname "${BASH_SOURCE[0]}")/../js"
    if command -v flock >/dev/null; then flock 9; fi
    if ! cmp -s package.json node_modules/.installed; then
        npm install --no-package-lock --loglevel=error
        cp package.json node_modules/.installed
    fi
) 9<"$(dirname "${BASH_SOURCE[0]}")/../js/package.json"
