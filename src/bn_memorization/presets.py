"""The reruns that each chapter suggests, as data: a question, and the parameters that answer it."""

import yaml

from bn_memorization import paths


def read(chapter: str) -> list[dict[str, str]]:
    """Return what is suggested for a chapter, in order; nothing for one that is not named.

    Each has `ask`, a question, and `params`, words such as `epochs=5`; `profile` where it is not
    that of the page.
    """
    return yaml.safe_load(paths.presets().read_text()).get(chapter) or []
