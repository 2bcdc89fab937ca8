"""Makes the fixtures of `tests/support` known to every test."""

import hypothesis

pytest_plugins = [
    "tests.support.garbage",
    "tests.support.object_store",
    "tests.support.plugin",
    "tests.support.spark",
    "tests.support.xdist_groups",
]

# An example may take as long as it takes: this machine has other work, and no test asserts a time.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")
