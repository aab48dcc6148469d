"""What a call does, compared before and after conversion."""

import autograph as ag


def outcome(function, *arguments):
    """What a call does: its result or its exception, and what it wrote to its first argument, a log."""
    log = []
    try:
        result = ("returned", function(log, *arguments))
    except Exception as error:
        result = ("raised", type(error), error.args, type(error.__cause__))
    return result, log


def same(function, *argument_lists):
    """Asserts that conversion changes nothing, for each list of arguments; makes them anew for each run."""
    converted = ag.convert(function)
    for arguments in argument_lists or [()]:
        make = arguments if callable(arguments) else lambda arguments=arguments: arguments
        found, wanted = outcome(converted, *make()), outcome(function, *make())
        assert found == wanted, f"converted: {found}, plain: {wanted}"


def asserting(log, x):
    """Stands here, since pytest rewrites the `assert` statements of a test module, but not its source."""
    log.append("before")
    assert x, ("message", x)
    return x
