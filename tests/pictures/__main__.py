"""`make pictures` draws the pictures in README anew."""

from __future__ import annotations

import sys

from tests.pictures import DEMO, PAGE, demo, page

if __name__ == "__main__":
    DEMO.write_text(demo.draw(demo.run_demo()), encoding="utf-8")
    page.draw()
    sys.stdout.write(f"{DEMO}\n{PAGE}\n")
