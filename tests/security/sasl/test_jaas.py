import pytest

from penstock.config.property import ConfigError
from penstock.security.sasl.jaas import parse_jaas


def test_a_module_has_its_options() -> None:
    text = """org.apache.kafka.common.security.plain.PlainLoginModule required
        username="admin"
        password='it''s' user_alice = "a \\"quoted\\" one" user_bob=plain serviceName="x;y";"""
    with pytest.raises(ConfigError):
        parse_jaas(text)  # no sign between two quoted words
    [module] = parse_jaas(text.replace("it''s", "its"))
    assert module.name == "PlainLoginModule"
    assert module.options["username"] == "admin"
    assert module.options["serviceName"] == "x;y"
    assert module.users == {"alice": 'a "quoted" one', "bob": "plain"}


def test_one_text_may_have_several_modules() -> None:
    modules = parse_jaas('A required x="1"; b.B sufficient;')
    assert [(each.name, dict(each.options)) for each in modules] == [("A", {"x": "1"}), ("B", {})]


@pytest.mark.parametrize(
    "text",
    [
        "PlainLoginModule",
        'PlainLoginModule required password="hush"',
        'PlainLoginModule required password="hush',
        'PlainLoginModule perhaps password="hush";',
        'PlainLoginModule required password "hush";',
        "PlainLoginModule required password=;",
        '; required password="hush";',
    ],
)
def test_an_invalid_text_is_refused_without_being_quoted(text: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_jaas(text)
    assert "hush" not in str(error.value)
    assert "sasl.jaas.config" in str(error.value)


def test_the_representation_of_a_module_hides_its_options() -> None:
    assert "hush" not in repr(parse_jaas('PlainLoginModule required password="hush";'))
