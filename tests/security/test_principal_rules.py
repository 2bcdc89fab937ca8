import pytest

from penstock.config.property import ConfigError
from penstock.security.principal_rules import NoMatchingRule, PrincipalRules, subject_name

SUBJECT = "CN=kafka.example.com,OU=Servers,O=Penstock,C=CH"


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", SUBJECT),
        ("", SUBJECT),
        ("RULE:^CN=(.*?),.*$/$1/", "kafka.example.com"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$2.$1/U", "SERVERS.KAFKA.EXAMPLE.COM"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$2/L", "servers"),
        ("RULE:^UID=(.*)$/$1/, RULE:^CN=([^.]*).*$/$1/, DEFAULT", "kafka"),
        ("RULE:^UID=(.*)$/$1/,DEFAULT", SUBJECT),
        ("RULE:^CN=([^.]*).*$/$1@$2/", "kafka@$2"),  # there is no second group
        ("RULE:^CN=([^.]*).*$/$12/", "kafka2"),  # nor a twelfth
        ("RULE:^CN=([^.]*).*$/a\\/$1/", "a/kafka"),
        ("RULE:^.*O=(Pen\\w+).*$/$1/", "Penstock"),
    ],
)
def test_the_first_matching_rule_makes_the_name(rules: str, name: str) -> None:
    assert PrincipalRules(rules).name_of(SUBJECT) == name


def test_a_pattern_must_match_the_whole_subject() -> None:
    with pytest.raises(NoMatchingRule, match="CN=kafka"):
        PrincipalRules("RULE:CN=kafka/x/").name_of(SUBJECT)


@pytest.mark.parametrize(
    "rules", ["NONE", "RULE:(/x/", "RULE:a/b", "RULE:a/b/L DEFAULT", "DEFAULT;RULE:a/b/", "RULE:a/b/X"]
)
def test_invalid_rules_are_refused(rules: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalRules(rules)


def test_a_subject_is_written_innermost_part_first() -> None:
    subject = ((("countryName", "CH"),), (("organizationName", "Penstock"),), (("commonName", "alice"),))
    assert subject_name(subject) == "CN=alice,O=Penstock,C=CH"


def test_special_characters_of_names_are_escaped() -> None:
    subject = ((("organizationName", "A, B+C"),), (("commonName", "#1 \\ "), ("userId", "7")))
    assert subject_name(subject) == "CN=\\#1 \\\\\\ +UID=7,O=A\\, B\\+C"
    assert subject_name(((("commonName", "a=b#c;d"),),)) == "CN=a\\=b\\#c\\;d"  # as Java has it


@pytest.mark.parametrize("rules", ["DEFAULT", "RULE:.*//", "RULE:(.*)/$1/"])
def test_an_empty_subject_is_anonymous(rules: str) -> None:
    with pytest.raises(NoMatchingRule):
        PrincipalRules(rules).name_of("")


def test_an_email_address_is_written_as_java_writes_it() -> None:
    name = subject_name(((("emailAddress", "a@b.c"),), (("commonName", "a"),)))
    assert name == "CN=a,1.2.840.113549.1.9.1=#16056140622e63"
