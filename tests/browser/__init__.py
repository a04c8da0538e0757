"""The page in a real Chromium: `make test SUITE=browser`."""
