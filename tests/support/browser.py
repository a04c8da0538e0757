"""A real Chromium: Debian's package, driven by Debian's chromedriver. What it complains about fails the test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from selenium.webdriver import ActionChains, Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from tests.support import wait_until

MISSING = "the browser tests need Chromium: apt-get install chromium chromium-driver"
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
PHONE, DESK, WALL = 390, 1280, 1920

_TALLEST = 6000
_RUN_AXE = "const done = arguments[1]; axe.run(document, arguments[0]).then(done, (error) => done(String(error)))"
_AXE_RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}}


class Browser:
    """One window."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver

    def go(self, url: str) -> None:
        self.driver.get(url)

    def find(self, selector: str) -> WebElement:
        """The first element that a CSS selector finds; fails if there is none."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        return self.find(selector).text

    def path(self) -> str:
        return "/" + self.driver.current_url.split("/", 3)[3]

    def press(self, *keys: str) -> None:
        """Type keys to whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def tab_to(self, selector: str, most: int = 60) -> WebElement:
        """Press the tab key until the element has the focus; every stop on the way must show that it has it."""
        for _ in range(most):
            self.press(Keys.TAB)
            active = self.driver.switch_to.active_element
            style = "const s = getComputedStyle(arguments[0]); return s.outlineStyle + ' ' + s.outlineWidth"
            shown = self.driver.execute_script(style, active)
            assert shown not in ("none 0px", "none 3px"), (
                f"no focus is seen on {active.get_attribute('outerHTML')[:200]}"
            )
            if self.driver.execute_script("return arguments[0].matches(arguments[1])", active, selector):
                return active
        raise AssertionError(f"{most} tabs do not lead to {selector}")

    def type(self, *keys: str) -> None:
        """Type to whatever has the focus by then, key by key."""
        for it in keys:
            self.press(it)

    def active(self) -> WebElement:
        return self.driver.switch_to.active_element

    def choose(self, selector: str, text: str) -> None:
        """Choose from a list."""
        Select(self.find(selector)).select_by_visible_text(text)

    def background(self) -> str:
        return str(self.find("body").value_of_css_property("background-color"))

    def scripts(self, *, allowed: bool) -> None:
        """Whether pages may run JavaScript."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def forget(self) -> None:
        """Forget all cookies, and leave the page."""
        self.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        self.go("about:blank")

    def click(self, selector: str) -> None:
        """Click, and wait for the page that it leads to."""
        self.click_on(self.find(selector))

    def click_on(self, element: WebElement) -> None:
        """The same with an element."""
        old = self.find("html")
        element.click()
        self._wait_for_another(old)

    def click_after(self, script: str, selector: str) -> None:
        """The same after a script, in one step: in between the page might bring itself up to date."""
        old = self.find("html")
        self.driver.execute_script(f"{script}; document.querySelector(arguments[0]).click()", selector)
        self._wait_for_another(old)

    def _wait_for_another(self, old: WebElement) -> None:
        wait_until(lambda: self._is_another(old), seconds=30, what="another page")

    def _is_another(self, old: WebElement) -> bool:
        now = self.driver.find_elements(By.CSS_SELECTOR, "html")  # none between two pages
        is_complete = self.driver.execute_script("return document.readyState") == "complete"
        return bool(now) and now[0].id != old.id and is_complete

    def size(self, width: int, height: int = 900) -> None:
        """Show the page as a window of that size would; a window itself cannot be as narrow as a phone."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def zone(self, name: str) -> None:
        """The time zone of pages that are opened from now on."""
        self.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": name})

    def hover(self, selector: str) -> None:
        """Put the pointer in the middle of an element."""
        ActionChains(self.driver).move_to_element(self.find(selector)).perform()

    def prefer(self, theme: str) -> None:
        """What the system prefers: light or dark. And no motion, which a picture would catch half-way."""
        features = [{"name": "prefers-color-scheme", "value": theme}]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def picture(self, name: str, width: int, theme: str) -> None:
        """Keep the whole page as build/screenshots/NAME-WIDTH-THEME.png."""
        self.prefer(theme)
        self.size(width)
        height = min(_TALLEST, self.driver.execute_script("return document.documentElement.scrollHeight"))
        self.size(width, height)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}-{width}-{theme}.png"))

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return int(self.driver.execute_script(script))

    def cut_off(self) -> list[str]:
        """The tables that are wider than their boxes, so that somebody has to scroll them sideways."""
        script = "return [...document.querySelectorAll('main .scroll')].filter(it => it.scrollWidth > it.clientWidth)"
        found: list[str] = self.driver.execute_script(f"{script}.map(it => it.getAttribute('aria-label'))")
        return found

    def squeezed(self) -> list[str]:
        """Texts that stand letter below letter, as there is no room beside them."""
        script = "return [...document.querySelectorAll('main :is(p, th, td, dt, dd, caption, span, a, button)')]"
        script += (
            ".filter(it => it.clientWidth && it.clientWidth < 24 && it.clientHeight > 100).map(it => it.outerHTML)"
        )
        found: list[str] = self.driver.execute_script(script)
        return found

    def faults(self) -> list[str]:
        """What the console has said since the last look: errors of scripts, violations of the policy, failed loads."""
        return [it["message"] for it in self.driver.get_log("browser")]

    def violations(self) -> list[str]:
        """What axe finds that keeps people from using the page."""
        self.driver.execute_script(_axe())
        found: Any = self.driver.execute_async_script(_RUN_AXE, _AXE_RULES)
        return [
            f"{it['id']}: {node['html'][:160]} {node['failureSummary']}"
            for it in found["violations"]
            for node in it["nodes"]
        ]


def _axe() -> str:
    """The script, of the package that carries it."""
    found = find_spec("axe_core_python")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without a window, which accepts no certificate by itself. Fails where it is not installed."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser, MISSING
    assert driver, MISSING
    options = ChromeOptions()
    options.binary_location = browser
    for it in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(it)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = Chrome(options=options, service=ChromeService(driver))
    try:
        yield Browser(opened)
    finally:
        opened.quit()
