# Sourced by scripts/test and scripts/soak: the environments, and the suite laid out beside them.
# shellcheck shell=bash

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$checkout/.venv
clean=$checkout/.venv-wheel

say() { printf '== %s\n' "$*"; }

die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# Print the first interpreter that is a Python 3.11 or later and can make environments.
find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.{11..14} python; do
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
            2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    die "No Python 3.11 or later with venv was found. Install one (on Debian: python3 and" \
        "python3-venv), or name it: PYTHON=/path/to/python3.11 $0"
}

# Print what an environment depends on: the interpreter that made it and the project's own words.
stamp_of() {
    "$1" -c 'import hashlib, pathlib, sys
print(sys.version, hashlib.sha256(pathlib.Path(sys.argv[1]).read_bytes()).hexdigest())' \
        "$checkout/pyproject.toml" | tr -d '\n'
}

# Succeed where the environment $1 works and was made from this pyproject.toml.
is_current() {
    [[ -f $1/.stamp && $(<"$1/.stamp") == "$(stamp_of "$1/bin/python" 2>/dev/null)" ]]
}

# Give the environment $1 the project's dependency group $2; make it first where it is not there.
make_environment() {
    local python
    if ! "$1/bin/python" -c '' 2>/dev/null; then
        python=$(find_python)
        say "making ${1##*/} with $("$python" --version)"
        "$python" -m venv --clear "$1"
    else
        say "updating ${1##*/}: pyproject.toml has changed"
    fi
    # Dependency groups need pip 25.1.
    pip "$1" install --upgrade "pip>=25.1"
    (cd "$checkout" && pip "$1" install --group "$2")
}

pip() {
    "$1/bin/python" -m pip -qq --disable-pip-version-check --no-input "${@:2}"
}

# Make .venv: every tool, every extra, and the package as an editable install of the checkout.
prepare_tools() {
    is_current "$tools" && return
    make_environment "$tools" dev
    (cd "$checkout" && pip "$tools" install --editable '.[all]')
    stamp_of "$tools/bin/python" >"$tools/.stamp"
}

# Make .venv-wheel: what a user gets from the wheel with every extra, and what the suite needs.
prepare_clean() {
    local built=$work/built wheel
    # By way of the source distribution, so that what it holds is enough.
    (cd "$checkout" && "$tools/bin/python" -m build --no-isolation --outdir "$built") \
        >"$work/build.log" 2>&1 || die "$(<"$work/build.log")"
    wheel=$(echo "$built"/*.whl)
    if is_current "$clean"; then
        pip "$clean" install --no-deps --force-reinstall "$wheel"
        return
    fi
    rm -rf "$clean" # nothing from before may stand in for a dependency that has gone
    make_environment "$clean" test
    pip "$clean" install "${wheel}[all]"
    pip "$clean" check
    stamp_of "$clean/bin/python" >"$clean/.stamp"
}

# Lay the suite, without the sources of the package, into $stage, and make sure of it.
prepare_stage() {
    local path
    mkdir "$stage"
    for path in tests specs docs benchmarks scripts README.md CHANGELOG.md pyproject.toml; do
        [[ ! -e $checkout/$path ]] || tar -C "$checkout" --exclude='__pycache__' --exclude='.?*' \
            -cf - "$path" | tar -C "$stage" -xf -
    done
    (cd "$stage" && "$clean/bin/python" -c 'import pathlib, sysconfig, a2a_delegate
found = pathlib.Path(a2a_delegate.__file__).resolve()
wheel = pathlib.Path(sysconfig.get_path("purelib")).resolve()
assert found.is_relative_to(wheel), f"{found} is tested instead of the wheel in {wheel}"')
}

# Run the suite's Python in $stage, with what the tests of real servers need to find them.
in_stage() {
    (cd "$stage" && A2A_DELEGATE_INTEROP_DIR=$checkout/.interop "$clean/bin/python" "$@")
}

# Install the real servers that the tests marked `interop` talk to; --soak: all of them.
prepare_servers() {
    A2A_DELEGATE_INTEROP_DIR=$checkout/.interop \
        "$tools/bin/python" "$checkout/tests/interop/install.py" "$@"
}

# Everything that lasts as long as one run.
work=$(mktemp -d)
stage=$work/stage
trap 'rm -rf "$work"' EXIT
