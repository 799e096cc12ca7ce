"""The command line: the Makefile's verbs for those without make."""

import argparse
import subprocess
import sys

from bn_memorization import __version__, book, paths
from bn_memorization.errors import BadInput, Failure

DEFAULT_PROFILE = "quick"


def parser() -> argparse.ArgumentParser:
    """Return the parser of all verbs."""
    top = argparse.ArgumentParser(prog="bn-memorization", description="Build and rerun the book.")
    top.add_argument("--version", action="version", version=__version__)
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)

    verb = verbs.add_parser("book", help="run what is out of date and build the pages")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=lambda asked: book.build(asked.profile))

    verb = verbs.add_parser("chapter", help="rerun one chapter with other parameters")
    verb.add_argument("name", help="such as 01_forced_memorization")
    verb.add_argument("parameters", nargs="*", metavar="NAME=VALUE")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=_chapter)

    verb = verbs.add_parser("pdf", help="print the whole book as one PDF")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=_pdf)

    verb = verbs.add_parser("site", help="lay the book out for a static host")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.add_argument("--address", default="", help="where it will be: https://...")
    verb.set_defaults(call=_site)

    verb = verbs.add_parser("results", help="train what is missing for all chapters, and stop")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=_results)

    verb = verbs.add_parser("plan", help="say what is missing and how long it would take here")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=_plan)

    verb = verbs.add_parser("data", help="fetch full data sets (without names: all)")
    verb.add_argument("names", nargs="*", metavar="DATASET")
    verb.set_defaults(call=_data)

    verb = verbs.add_parser("publish", help="copy the book's records and verdicts to published/")
    verb.add_argument("--profile", default=DEFAULT_PROFILE, help="default: %(default)s")
    verb.set_defaults(call=_publish)

    verb = verbs.add_parser("test", help="run the tests")
    verb.set_defaults(call=lambda asked: _tool("pytest"))
    verb = verbs.add_parser("lint", help="check form and style")
    verb.set_defaults(call=_lint)
    verb = verbs.add_parser("clean", help="remove executed chapters and built pages")
    verb.set_defaults(call=lambda asked: book.clean())
    return top


def _chapter(asked: argparse.Namespace) -> None:
    from bn_memorization import parameters  # seconds of imports that the other verbs do not need

    book.rerun(asked.name, asked.profile, parameters.of_command_line(asked.parameters))


def _pdf(asked: argparse.Namespace) -> None:
    from bn_memorization import pdf

    pdf.make(asked.profile)


def _site(asked: argparse.Namespace) -> None:
    from bn_memorization import hosting

    hosting.make(asked.profile, asked.address)


def _results(asked: argparse.Namespace) -> None:
    from bn_memorization import budget

    budget.train(asked.profile)


def _plan(asked: argparse.Namespace) -> None:
    from bn_memorization import budget

    budget.show(asked.profile)


def _data(asked: argparse.Namespace) -> None:
    from bn_memorization import data

    data.fetch(asked.names or list(data.DATASETS))


def _publish(asked: argparse.Namespace) -> None:
    from bn_memorization import published

    published.publish(asked.profile)


def _lint(asked: argparse.Namespace) -> None:
    _tool("ruff", "check", ".")
    _tool("ruff", "format", "--check", ".")


def _tool(module: str, *arguments: str) -> None:
    status = subprocess.run([sys.executable, "-m", module, *arguments], cwd=paths.root()).returncode
    if status:
        raise Failure(f"{module} found something to mend (exit status {status}).")


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    top = parser()
    asked, left = top.parse_known_args(arguments)
    # Before Python 3.12.8 argparse leaves the words that stand behind an option.
    if left and (asked.verb != "chapter" or any(word.startswith("-") for word in left)):
        top.error(f"unrecognized arguments: {' '.join(left)}")
    if asked.verb == "chapter":
        asked.parameters += left
    return asked


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; return 0, 2 for bad input or 1 for a failure, with one message on stderr."""
    asked = _parse(arguments)
    try:
        asked.call(asked)
    except BadInput as error:
        print(f"bn-memorization: {error}", file=sys.stderr)
        return 2
    except (Failure, OSError) as error:
        print(f"bn-memorization: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbn-memorization: stopped. Finished models are kept.", file=sys.stderr)
        return 1
    return 0
