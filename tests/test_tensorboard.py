"""What TensorBoard itself shows of a run, in a real browser."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import boarded
from tests import browser as browsers

pytest.importorskip("tensorboard")
PICTURE = Path(__file__).parent.parent / "docs/images/tensorboard.png"
# Components are in each other's shadow trees, which no selector looks into.
FIND = """
const found = [];
const look = (root) => {
  for (const each of root.querySelectorAll("*")) {
    if (each.matches(arguments[0])) found.push(each);
    if (each.shadowRoot) look(each.shadowRoot);
  }
};
look(document);
return found;
"""


@contextlib.contextmanager
def serving(logdir, log):
    """TensorBoard on this machine's own interface; gives its address."""
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(logdir), "--host", "127.0.0.1", "--port", "0"]
    with log.open("w") as out:
        process = subprocess.Popen([*command, "--load_fast=false"], stdout=out, stderr=subprocess.STDOUT)
    try:
        yield wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+/", log.read_text()), process)[0]
    finally:
        process.terminate()
        process.wait()


def wait_for(found, process=None):
    """What ``found`` returns as soon as it is something."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert process is None or process.poll() is None, "TensorBoard has ended"
        if result := found():
            return result
        time.sleep(0.2)
    raise AssertionError("it was not there in a minute")


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A browser, and the address of a TensorBoard that shows a training run."""
    logdir = tmp_path_factory.mktemp("logs")
    boarded.train_and_export(logdir)
    with (
        browsers.opened(tmp_path_factory.mktemp("profile")) as browser,
        serving(logdir, tmp_path_factory.mktemp("out") / "log.txt") as address,
    ):
        browsers.resize(browser, browsers.DESKTOP)
        yield browser, address


def every(browser, selector):
    return browser.execute_script(FIND, selector)


def node(browser, name):
    """The node of the graph that has this name, as soon as it is drawn."""
    (found,) = wait_for(lambda: every(browser, f'g.node[data-name="{name}"]'))
    return found


CLICK = "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, composed: true}))"


def expand(browser, name):
    """Open a scope, by the sign in its corner."""
    browser.execute_script(CLICK, node(browser, name).find_element("css selector", ".buttoncontainer"))


def shown(browser, scope=""):
    """The names of the nodes that are drawn in a scope."""
    names = {each.get_attribute("data-name") for each in every(browser, "g.node[data-name]")}
    return {name.removeprefix(scope) for name in names if name.startswith(scope)}


@pytest.fixture
def graph(board):
    """The browser, with the graph of the run."""
    browser, address = board
    browser.get("about:blank")
    browser.get(address + "#graphs")
    wait_for(lambda: every(browser, "g.node[data-name]"))
    return browser


def test_the_graph_has_the_names_of_variables_inputs_and_statements(graph):
    assert {"line", "steps", "rows", "labels", f"for_line_{boarded.line('for step')}", "result"} <= shown(graph)
    expand(graph, "line")
    node(graph, "line/weights")
    assert shown(graph, "line/") == {"weights"}
    expand(graph, "line/weights")
    node(graph, "line/weights/assign")


def test_scopes_open_one_in_another_down_to_the_operations_with_their_lines(graph):
    loop = f"for_line_{boarded.line('for step')}"
    expand(graph, loop)
    expand(graph, f"{loop}/body")
    inner = f"{loop}/body/while_line_{boarded.line('while')}"
    node(graph, inner)
    assert {"predict", "gradient", f"if_line_{boarded.line('if step')}"} <= shown(graph, f"{loop}/body/")
    expand(graph, inner)
    expand(graph, f"{inner}/body")
    halved = node(graph, f"{inner}/body/div")
    text = card(graph, halved)
    assert f"boarded.py:{boarded.line('rate / 2')}" in text and "div" in text


def card(browser, chosen):
    """What is said of a node that is clicked."""
    browser.execute_script(CLICK, chosen.find_element("css selector", ".nodeshape"))
    (found,) = wait_for(lambda: every(browser, "tf-node-info"))
    return wait_for(lambda: "".join(browser.execute_script(TEXTS, found)) or None)


TEXTS = """
const texts = [];
const look = (root) => {
  for (const each of root.querySelectorAll("*")) {
    if (each.shadowRoot) look(each.shadowRoot);
    for (const child of each.childNodes) if (child.nodeType === 3) texts.push(child.textContent);
  }
};
look(arguments[0].shadowRoot);
return texts;
"""


def test_scalars_and_histograms_are_there_too(board):
    browser, address = board
    browser.get("about:blank")
    browser.get(address + "#timeseries")
    titles = wait_for(lambda: {each.get_property("textContent").strip() for each in every(browser, "span.group-title")})
    assert {"loss", "line"} <= titles


def test_the_picture_in_the_documents(graph):
    """Taken anew where ``AUTOGRAPH_PICTURES`` is set."""
    body = f"for_line_{boarded.line('for step')}/body"
    inner = f"{body}/while_line_{boarded.line('while')}"
    for scope in ("line", body.removesuffix("/body"), body, inner):
        expand(graph, scope)
    time.sleep(2)  # what opens moves for a while
    card(graph, node(graph, f"{inner}/while"))
    fit = [each for each in every(graph, "paper-button, button") if "Fit to screen" in each.get_property("textContent")]
    graph.execute_script("arguments[0].click()", fit[0])
    time.sleep(2)
    taken = graph.get_screenshot_as_png()
    if os.environ.get("AUTOGRAPH_PICTURES"):
        PICTURE.write_bytes(taken)
    assert taken.startswith(b"\x89PNG") and PICTURE.read_bytes().startswith(b"\x89PNG")
