"""Views: what a page shows, made of what the sidecar answers. Pure: values in, values out; no HTML, no clock."""
