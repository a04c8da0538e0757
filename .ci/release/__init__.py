"""What a release is made of, beside wheel and sdist: pins with hashes, an SBOM, licences, an audit, checksums.

The Makefile runs it (`make release`, and `make pins`, `sbom`, `licences`, `audit` for a part of it) with the tools of
pyproject.toml's dependency group `release`. Nothing in it publishes anything.
"""
