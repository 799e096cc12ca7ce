"""One page, opened once: what it showed, what it asked for, and what it complained of."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, Response

SURVEY = (Path(__file__).parent / "survey.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Visit:
    """A page as it was shown; ``shown`` holds the fields that survey.js returns."""

    page: str
    requests: tuple[str, ...]
    complaints: tuple[str, ...]
    shown: dict

    def outside(self, base: str) -> list[str]:
        """Return the addresses asked for that are neither below ``base`` nor inside the page."""
        return [url for url in self.requests if not url.startswith((base, "data:", "blob:"))]


def listen(page: Page) -> tuple[list[str], list[str]]:
    """Return two lists that fill up as the page makes requests and has errors."""
    requests: list[str] = []
    complaints: list[str] = []

    def note_answer(response: Response) -> None:
        if response.status >= 400:
            complaints.append(f"{response.status} {response.url}")

    page.on("request", lambda request: requests.append(request.url))
    page.on("response", note_answer)
    page.on("requestfailed", lambda request: complaints.append(f"no answer: {request.url}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    return requests, complaints


def visit_all(
    browser: Browser, base: str, names: list[str], *, width: int = 1400, scheme: str = "light"
) -> list[Visit]:
    """Open ``base/NAME.html`` for each name in a window of ``width`` pixels; return what was seen.

    ``scheme`` is the reader's system preference, "light" or "dark".
    """
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",  # else a color may be read in the middle of its change
    )
    visits = []
    for name in names:
        page = context.new_page()
        requests, complaints = listen(page)
        page.goto(f"{base}/{name}.html")
        shown = page.evaluate(SURVEY)
        visits.append(Visit(name, tuple(requests), tuple(complaints), shown))
        page.close()
    context.close()
    return visits
