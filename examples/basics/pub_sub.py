"""Publish and subscribe: what one program sends another receives, in order."""

from examples.basics.common import bootstrap_server, consumer, new_topic, send, take, text


def main() -> None:
    server = bootstrap_server()
    topic = new_topic(server, "greetings")
    send(server, topic, ["hello", "how are you?", "goodbye"])
    reading = consumer(server, "listeners")
    reading.subscribe([topic])
    for message in take(reading, 3):
        print(f"offset {message.offset()}: {text(message)}")
    reading.close()


if __name__ == "__main__":
    main()
