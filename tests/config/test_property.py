import pytest

from penstock.config.property import ConfigError, Property, Value, render
from penstock.config.section import Section

SECTION = Section("test")
COUNT = SECTION.integer("count", 3, "", at_least=1, at_most=9)
RATIO = SECTION.double("ratio", 0.5, "")
FLAG = SECTION.boolean("flag", False, "")
COLOURS = SECTION.names("colours", ("red",), "", choices=("red", "blue"))
SECRET = SECTION.password("secret", "", check=lambda _name, value: "too short" if value == "x" else None)


@pytest.mark.parametrize(
    ("prop", "text", "value"),
    [
        (COUNT, " 7 ", 7),
        (RATIO, "0.25", 0.25),
        (FLAG, "TRUE", True),
        (COLOURS, "red, blue", ("red", "blue")),
        (COLOURS, "", ()),
        (SECRET, "hunter2", "hunter2"),
    ],
)
def test_a_value_is_read_by_its_type(prop: Property[object], text: str, value: Value) -> None:
    assert prop.parse(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0", "Value must be at least 1 (from 1 to 9)"),
        ("10", "Value must be no more than 9 (from 1 to 9)"),
        ("many", "Not a number of type INT"),
        ("9999999999", "Not a number of type INT"),
        ("", "Not a number of type INT"),
        ("٣", "Not a number of type INT"),
    ],
)
def test_a_bad_number_is_refused_with_the_bounds(text: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        COUNT.parse(text)
    assert str(error.value) == f"Invalid value {text} for configuration count: {reason}"


def test_a_value_outside_the_choices_is_refused_with_the_choices() -> None:
    with pytest.raises(ConfigError, match="String must be one of: red, blue"):
        COLOURS.parse("red,green")


def test_a_flag_is_true_or_false_and_nothing_else() -> None:
    with pytest.raises(ConfigError, match="Expected value to be either true or false"):
        FLAG.parse("yes")


def test_an_error_does_not_show_a_secret() -> None:
    with pytest.raises(ConfigError) as error:
        SECRET.parse("x")
    assert str(error.value) == "Invalid value [hidden] for configuration secret: too short"


def test_values_are_formatted_as_in_a_properties_file() -> None:
    assert [render(value) for value in (True, ("a", "b"), 3, 0.5, None)] == ["true", "a,b", "3", "0.5", None]
