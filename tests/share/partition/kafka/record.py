"""Lead Kafka's share partition through random histories and keep them: `python -m tests.share.partition.kafka.record`.

Left out is what ours does otherwise on purpose, because Kafka's gets stuck or goes astray there: see `HISTORIES`.
"""

import subprocess
import sys
import tempfile
from glob import glob
from pathlib import Path
from random import Random
from typing import IO

from penstock_bench.peers.products import PEERS

HISTORIES = Path(__file__).with_name("histories.txt")
"""Not in them: renewals beside offsets that are refused (Kafka renews some, ours none); a write that fails after the
locks of its records have expired (Kafka frees them but may not move the start offset, ours with the next expiry); a
log start inside a record batch (Kafka may give what is before it) or while records are held or in doubt (it forgets the
doubt); an aborted batch that begins before the start offset (it fails); acknowledgements that begin between batches."""

_KINDS = ("plain", "kept", "aborted", "holes", "deleted")
_HISTORIES_PER_KIND = 24
_LOCK_MS = 100
_MEMBERS = "abc"
_TYPES = (0, 1, 1, 2, 2, 3, 4)


class Oracle:
    """Kafka's own class, which answers one command after the other."""

    def __init__(self, commands: IO[str], answers: IO[str]) -> None:
        self._commands = commands
        self._answers = answers
        self.lines: list[str] = []

    def ask(self, command: str) -> str:
        print(command, file=self._commands, flush=True)
        answer = self._answers.readline().rstrip("\n")
        self.lines.append(f"{command} => {answer}".rstrip())
        return answer


class History:
    def __init__(self, oracle: Oracle, kind: str, seed: int) -> None:
        self._oracle = oracle
        self._kind = kind
        self._random = Random(f"{kind} {seed}")
        self._log: list[tuple[int, int, str]] = []
        self._start = self._end = self._random.randrange(4)
        self._next = self._start
        self._now_ms = 0
        self._held: dict[int, str] = {}
        self._in_doubt: dict[str, int] = {}  # writes, and when they were asked for

    def run(self) -> None:
        self._append()
        limit = self._random.choice((2, 3, 4, 5, 6, 10))
        locks = self._random.choice((6, 12, 2000)) if self._kind == "plain" else 2000
        kept = self._kept(limit) if self._kind == "kept" else []
        self._oracle.ask(" ".join(map(str, ("new", self._start, limit, locks, _LOCK_MS, *kept))))
        self._look()
        steps = (
            self._fetch,
            self._acknowledge,
            self._settle,
            self._release,
            self._wait,
            self._append,
            self._delete,
        )
        for _ in range(self._random.randrange(8, 40)):
            self._random.choices(steps, weights=(34, 28, 18, 4, 8, 4, 4))[0]()
            self._look()

    def _look(self) -> None:
        start, _, _, following, *_ = self._oracle.ask("state").split()
        self._start, self._next = int(start), int(following)

    def _append(self) -> None:
        for _ in range(self._random.randrange(1, 5)):
            if self._kind == "holes" and self._random.random() < 0.3:
                self._end += self._random.randrange(1, 4)
            last = self._end + self._random.randrange(8)
            is_aborted = self._kind == "aborted" and self._random.random() < 0.3
            self._log.append((self._end, last, "a" if is_aborted else ""))
            self._end = last + 1

    def _kept(self, limit: int) -> list[str]:
        """State with gaps, in which neighbours differ."""
        self._append()
        batches: list[str] = []
        offset = self._start + self._random.choice((0, 0, 3))
        before = ""
        while offset < self._end:
            last = min(offset + self._random.randrange(6), self._end - 1)
            state = f"{self._random.choice((0, 0, 2, 4))}-{self._random.randrange(1, limit)}"
            if state != before:
                batches.append(f"{offset}-{last}-{state}")
            before = state
            offset = last + 1 + self._random.choice((0, 0, 4))
        return batches

    def _fetch(self) -> None:
        read = [each for each in self._log if each[1] >= self._next][: self._random.randrange(1, 7)]
        if not read:
            return
        member = self._random.choice(_MEMBERS)
        limits = (self._random.randrange(2), self._random.randrange(1, 12), self._random.randrange(1, 20))
        batches = [f"{first}-{last}{aborted}" for first, last, aborted in read]
        answer = self._oracle.ask(" ".join(map(str, ("acquire", member, *limits, self._next, *batches))))
        for acquired in answer.split():
            first, last, _ = map(int, acquired.split("-"))
            self._held |= dict.fromkeys(range(first, last + 1), member)

    def _acknowledge(self) -> None:
        member = self._random.choice(_MEMBERS)
        held = [offset for offset in sorted(self._held) if self._held[offset] == member]
        if self._kind == "plain" and self._random.random() < 0.2:
            first = self._start + self._random.randrange(25)
            self._say(member, [f"{first}-{first + self._random.randrange(8)}-1"])
        elif held:
            first = last = self._random.choice(held)
            while last + 1 in held and self._random.random() < 0.8:
                last += 1
            types = [self._random.choice(_TYPES) for _ in range(last - first + 1)]
            self._say(
                member, [f"{first}-{last}-{','.join(map(str, self._random.choice((types, types[:1]))))}"]
            )

    def _say(self, member: str, acknowledgements: list[str]) -> None:
        self._note(self._oracle.ask(" ".join(("acknowledge", member, *acknowledgements))))

    def _release(self) -> None:
        self._note(self._oracle.ask(f"release {self._random.choice(_MEMBERS)}"))

    def _note(self, answer: str) -> None:
        word, *rest = answer.split() or [""]
        if word == "write":
            self._in_doubt[rest[0]] = self._now_ms
            self._let_go(rest[1:])

    def _let_go(self, batches: list[str]) -> None:
        for batch in batches:
            first, last, *_ = map(int, batch.split("-"))
            for offset in range(first, last + 1):
                self._held.pop(offset, None)

    def _settle(self) -> None:
        if self._in_doubt:
            write = self._random.choice(list(self._in_doubt))
            is_written = self._in_doubt.pop(write) < self._now_ms or self._random.random() < 0.7
            self._oracle.ask(f"settle {write} {int(is_written)}")

    def _wait(self) -> None:
        self._now_ms += self._random.choice((1, 10, 40, 90, 150))
        self._let_go(self._oracle.ask(f"time {self._now_ms}").split())

    def _delete(self) -> None:
        later = [first for first, _, _ in self._log if first > self._start]
        if self._kind == "deleted" and later and not self._held and not self._in_doubt:
            log_start = self._random.choice(later[:4])
            self._log = [each for each in self._log if each[0] >= log_start]
            self._oracle.ask(f"log_start {log_start}")


def main() -> int:
    jars = ":".join(glob(f"{PEERS}/kafka/*.jar"))
    source = Path(__file__).with_name("KafkaSharePartition.java")
    with tempfile.TemporaryDirectory() as classes:
        subprocess.run(["javac", "-nowarn", "-d", classes, "-cp", jars, str(source)], check=True, timeout=120)
        java = [
            "java",
            "-Dlog4j2.level=OFF",
            "-cp",
            f"{classes}:{jars}",
            "kafka.server.share.KafkaSharePartition",
        ]
        with subprocess.Popen(java, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as kafka:
            assert kafka.stdin is not None
            assert kafka.stdout is not None
            oracle = Oracle(kafka.stdin, kafka.stdout)
            for kind in _KINDS:
                for seed in range(_HISTORIES_PER_KIND):
                    History(oracle, kind, seed).run()
                    oracle.lines.append("")
            kafka.stdin.close()
    HISTORIES.write_text("\n".join(oracle.lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
