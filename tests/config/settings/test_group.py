from pathlib import Path

import penstock
from penstock.config.property import Property
from penstock.config.settings import group


def test_every_group_setting_is_read() -> None:
    package = Path(penstock.__file__).parent
    sources = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*/settings.py"))
    names = [name for name, value in vars(group).items() if isinstance(value, Property)]
    assert {name for name in names if f"group.{name}" not in sources} == set()
