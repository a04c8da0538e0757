"""README's set-up, run as it stands: `make test SUITE=readme`. It needs root, Debian's debootstrap and iproute2, and,
as SUITE=views does, Maven and a JDK 24."""
