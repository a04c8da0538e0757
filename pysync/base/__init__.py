"""Base: what every room uses: errors, text, files, logs, health, measures. Imports nothing of ours."""
