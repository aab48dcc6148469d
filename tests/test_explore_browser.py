"""Pages of programs in a real browser: what is pointed at is marked everywhere, by mouse and by keyboard, and nothing of the
user's text runs."""

from __future__ import annotations

import os
from pathlib import Path

import jax.numpy as jnp
import pytest

import autograph as ag
from autograph.tools.cli import main
from tests import browser as browsers
from tests import explored


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with browsers.opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def show(browser, tmp_path):
    """Open a page at a size; no page may say anything on the console."""

    def opened(page, size=browsers.DESKTOP, is_dark=False):
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browsers.resize(browser, size, is_dark)
        browser.get(path.as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []


def page_of(function, *args):
    made = function if isinstance(function, ag.Function) else ag.function(function)
    return made.get_concrete_function(*args).graph.to_html()


@pytest.fixture(scope="module")
def newton():
    return page_of(explored.newton, jnp.arange(1.0, 5))


def one(browser, selector):
    return browser.find_element("css selector", selector)


def every(browser, selector):
    return browser.find_elements("css selector", selector)


def line(browser, text):
    """The line of the source that begins so."""
    (found,) = [
        each
        for each in every(browser, ".source .ln")
        if each.find_element("css selector", ".code").text.strip().startswith(text)
    ]
    return found


def marked(browser, panel):
    """The lines of a panel that are marked."""
    return [each.get_property("textContent") for each in every(browser, f"#panel-{panel} .ln.on")]


def test_a_line_that_is_pointed_at_is_marked_in_every_form(show, newton):
    browser = show(newton)
    line(browser, "count += 1").click()
    assert len(every(browser, ".source .ln.on")) == 1
    assert any("count += 1" in each for each in marked(browser, "converted"))
    assert any("= add" in each for each in marked(browser, "jaxpr"))
    assert any("add(" in each for each in marked(browser, "hlo"))
    line(browser, "if jnp.any").click()
    assert any("cond" in each for each in marked(browser, "jaxpr"))
    assert not any("= add" in each for each in marked(browser, "jaxpr"))


def test_a_loop_shows_its_carry_and_a_branch_its_form(show, newton):
    browser = show(newton)
    line(browser, "while").click()
    text = one(browser, ".detail.on").text
    assert "guess" in text and "float32[4]" in text and "the next iteration reads it" in text
    line(browser, "if jnp.any").click()
    assert "a conditional: the branch that is taken runs" in one(browser, ".detail.on").text
    line(browser, "if count").click()
    assert "a select: both branches run" in one(browser, ".detail.on").text
    assert len([each for each in every(browser, ".detail") if each.is_displayed()]) == 1


def test_boxes_and_lines_of_other_forms_lead_back_to_the_source(show, newton):
    browser = show(newton)
    boxes = every(browser, ".box > button")
    assert len(boxes) >= 3
    boxes[-1].click()
    assert "if count > 2" in one(browser, ".source .ln.on").text
    one(browser, "#tab-jaxpr").click()
    first = one(browser, "#panel-jaxpr .ln[data-k]")
    first.click()
    assert one(browser, ".source .ln.on").get_attribute("data-k") == first.get_attribute("data-k")


def test_everything_is_reached_by_the_keyboard(show, newton):
    browser = show(newton)
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    body = one(browser, "body")
    reached = set()
    for _ in range(40):
        body.send_keys(keys.TAB) if not reached else browser.switch_to.active_element.send_keys(keys.TAB)
        active = browser.switch_to.active_element
        reached.add(active.get_attribute("id") or active.get_attribute("role") or active.tag_name)
        if "tab-structure" in reached and "button" in reached:
            break
    assert {"option", "tab-structure", "summary", "button"} <= reached
    option = one(browser, ".source .ln[tabindex='0']")
    option.send_keys(keys.HOME)
    first = one(browser, ".source .ln.on").text
    browser.switch_to.active_element.send_keys(keys.ARROW_DOWN)
    second = one(browser, ".source .ln.on")
    assert second.text != first and second.get_attribute("aria-selected") == "true"
    assert browser.switch_to.active_element == second
    one(browser, "#tab-structure").send_keys(keys.ARROW_RIGHT)
    assert browser.switch_to.active_element.get_attribute("id") == "tab-converted"
    assert one(browser, "#panel-converted").is_displayed() and not one(browser, "#panel-structure").is_displayed()


def test_text_of_the_user_is_text(show):
    browser = show(page_of(explored.nasty, jnp.array(1.0)))
    assert browser.title == "nasty" and not every(browser, "img, i#bad, b#bad, svg")
    assert "</script><img src=x onerror=" in one(browser, ".source").text
    one(browser, "#tab-converted").click()
    assert "onerror=" in one(browser, "#panel-converted").text
    assert line(browser, "while").is_displayed() and one(browser, ".detail.on")


def test_a_refusal_is_shown_at_its_line(show, tmp_path, capsys):
    out = tmp_path / "refused.html"
    assert main(["explore", "tests.explored:differs", "--arg", "f32[]", "-o", str(out)]) == 1
    browser = show(out.read_text(encoding="utf-8"))
    assert one(browser, ".source .ln.on .refused").is_displayed()
    assert "if x > 0" in one(browser, ".source .ln.on").text
    assert "'y'" in one(browser, ".detail.on").text and browser.title == "differs" and not every(browser, "img, i")


@pytest.mark.parametrize("size", [browsers.DESKTOP, browsers.PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
def test_it_fits_the_screen_and_can_be_read(show, newton, size, is_dark):
    browser = show(newton, size, is_dark)
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= size[0], "nothing makes the page itself wider than the screen"
    for selector in (".source .code", ".detail.on td", ".source .ln > .cost", ".no", "b.loop", "h2", "[role=tab]"):
        assert contrast(browser, selector) >= 4.5, selector


def contrast(browser, selector):
    """Of a text and what is behind it, as accessibility counts it."""
    return browser.execute_script(
        """
        const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
          .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
          .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
        const numbers = (text) => text.match(/[0-9.]+/g).map(Number);
        const element = document.querySelector(arguments[0]);
        let behind = element;
        const clear = (each) => { const c = numbers(getComputedStyle(each).backgroundColor); return c.length === 4 && c[3] === 0; };
        while (clear(behind) && behind.parentElement) behind = behind.parentElement;
        const one = luminance(numbers(getComputedStyle(element).color));
        const other = luminance(numbers(getComputedStyle(behind).backgroundColor));
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        """,
        selector,
    )


def test_in_a_notebook_it_is_a_page_of_its_own(show):
    graph = ag.function(explored.nasty).get_concrete_function(jnp.array(1.0)).graph
    browser = show(f"<!doctype html><title>notebook</title><body>{graph._repr_html_()}</body>")
    browser.switch_to.frame(one(browser, "iframe"))
    line(browser, "while").click()
    assert one(browser, ".detail.on").is_displayed() and not every(browser, "img")
    browser.switch_to.default_content()
    assert browser.title == "notebook"


def test_a_thousand_statements_can_be_gone_through(show):
    import linecache

    lines = ["def big(x):", "    s = x"]
    for k in range(250):
        lines += [f"    if s > {k}:", f"        s = s * {1 + k / 1000}", "    else:", f"        s = s - {k}.0"]
    source = "\n".join([*lines, "    return s"])
    linecache.cache["<large>"] = (len(source), None, source.splitlines(keepends=True), "<large>")
    space = {}
    exec(compile(source, "<large>", "exec"), space)
    browser = show(page_of(space["big"], jnp.array(2.0)))
    load = "const [n] = performance.getEntriesByType('navigation'); return n.loadEventEnd - n.responseEnd"
    assert browser.execute_script(load) < 10_000  # a second, on a machine with nothing else to do
    browser.execute_script("document.querySelectorAll('.source .ln[data-k]')[700].click()")
    assert one(browser, ".source .ln.on").is_displayed() and one(browser, ".detail.on").is_displayed()


def test_the_picture_in_the_documents(show, newton):
    """Taken anew where ``AUTOGRAPH_PICTURES`` is set."""
    browser = show(newton)
    browser.execute_script("arguments[0].click()", line(browser, "while"))  # which scrolls nothing
    taken = browser.get_screenshot_as_png()
    assert taken.startswith(b"\x89PNG")
    picture = Path(__file__).parent.parent / "docs/images/explore.png"
    if os.environ.get("AUTOGRAPH_PICTURES"):
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(taken)
    assert picture.read_bytes().startswith(b"\x89PNG")
