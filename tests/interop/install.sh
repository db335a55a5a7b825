#!/usr/bin/env bash
# Make one virtual environment per server line, for tests/interop and scripts/demo.
#
#   tests/interop/install.sh [LINE...]       default: every requirements-LINE.txt beside this file
#
# A2A_DELEGATE_INTEROP_DIR   where the environments go (default: .interop in the checkout)
# PYTHON                     the interpreter that makes them (default: python3), 3.11 or later
#
# An environment whose stamp matches its requirements file is left as it is.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${A2A_DELEGATE_INTEROP_DIR:-$here/../../.interop}
python=${PYTHON:-python3}

say() { printf 'interop: %s\n' "$*"; }
die() {
    printf 'interop: %s\n' "$*" >&2
    exit 2
}

known_lines() {
    local file name
    for file in "$here"/requirements-*.txt; do
        name=${file##*/requirements-}
        printf '%s\n' "${name%.txt}"
    done
}

# The launcher (servers.py) computes the same digest to tell a stale environment.
digest() {
    "$python" -c 'import hashlib, pathlib, sys
print(hashlib.sha256(pathlib.Path(sys.argv[1]).read_bytes()).hexdigest())' "$1"
}

# A stamp alone is not enough: an upgrade of the system Python can leave a venv that cannot start.
is_current() {
    local venv=$1 wanted=$2
    [[ -f $venv/.stamp && $(<"$venv/.stamp") == "$wanted" ]] && "$venv/bin/python" -c '' 2>/dev/null
}

install_line() {
    local line=$1 requirements venv wanted started
    requirements=$here/requirements-$line.txt
    [[ -f $requirements ]] || die "no server line \"$line\"; there are: $(known_lines | paste -sd ' ' -)"
    venv=$target/$line
    wanted=$(digest "$requirements")
    if is_current "$venv" "$wanted"; then
        say "$line is up to date"
        return
    fi
    say "$line: installing"
    started=$SECONDS
    rm -f "$venv/.stamp"
    "$python" -m venv --clear "$venv"
    # PIP_PRE=0 also overrules a pip configuration that asks for pre-releases everywhere.
    PIP_PRE=0 "$venv/bin/python" -m pip install -qq --no-input --disable-pip-version-check \
        --requirement "$requirements"
    printf '%s\n' "$wanted" >"$venv/.stamp"
    say "$line: done in $((SECONDS - started)) s, $(du -sk "$venv" | awk '{ printf "%d", $1 / 1024 }') MB"
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    die "\"$python\" is not a Python 3.11 or later; name one with PYTHON=..."

mkdir -p "$target"
# The folder hides itself from git, wherever it is.
printf '*\n' >"$target/.gitignore"

# shellcheck disable=SC2046  # line names hold no blanks; bash 3.2 has no mapfile
(($#)) || set -- $(known_lines)
for line in "$@"; do
    install_line "$line"
done
