"""The parts of a release besides wheel and sdist: pins with hashes, an SBOM, licences, an audit, checksums.

The Makefile runs it with the tools of pyproject.toml's dependency group `release`: `make release` for everything,
`make pins`, `sbom`, `licences` and `audit` for one part. Nothing here publishes anything.
"""
