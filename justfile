# `just` lists the recipes.
default:
    @just --list

# Format everything.
fmt:
    cargo fmt

# What the lint job checks.
lint:
    cargo fmt --check
    cargo clippy --all-targets --locked -- -D warnings

# All tests, in a process each where nextest is there.
test:
    if cargo nextest --version >/dev/null 2>&1; then cargo nextest run --locked && cargo test --locked --doc; else cargo test --locked; fi

# Coverage by line, as a page.
cover:
    cargo llvm-cov --html

# Accept what the snapshot tests found, then look at the difference.
docs:
    INSTA_UPDATE=always cargo test --locked
    git diff --stat

# Everything that must hold before a release.
release-check:
    .ci/run
