from tools.setup_peers import KAFKA_VERSIONS, first_that, pom


def test_the_newest_available_version_is_used() -> None:
    tried: list[str] = []

    def has(version: str) -> bool:
        tried.append(version)
        return version.startswith("4.1")

    assert first_that(has, KAFKA_VERSIONS) == "4.1.1"
    assert tried[0] == max(KAFKA_VERSIONS)
    assert first_that(lambda _: False, KAFKA_VERSIONS) is None


def test_maven_is_asked_for_the_broker_of_that_version() -> None:
    assert "<artifactId>kafka_2.13</artifactId><version>4.3.1</version>" in pom(
        ["org.apache.kafka:kafka_2.13:4.3.1"]
    )
