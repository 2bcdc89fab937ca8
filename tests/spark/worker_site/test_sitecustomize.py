"""What runs as a Python worker of Spark starts."""

import os
import subprocess
import sys
from pathlib import Path

import penstock.spark.worker_site
from penstock.spark.worker_site.sitecustomize import without_zips


def installed(site_packages: Path, *packages: str) -> list[str]:
    """Zips as Spark names them to its workers, with these packages beside in their usual form."""
    for package in packages:
        (site_packages / package).mkdir(parents=True)
    library = site_packages / "pyspark" / "python" / "lib"
    return [str(library / name) for name in ("pyspark.zip", "py4j-0.10.9.9-src.zip")]


def test_zips_of_what_is_installed_as_well_are_left_out(tmp_path: Path) -> None:
    zips = installed(tmp_path / "site", "pyspark", "py4j")
    others = ["", "/usr/lib/python3.zip", str(tmp_path / "site")]
    assert without_zips([*zips, *others]) == others


def test_zips_that_are_the_only_pyspark_stay(tmp_path: Path) -> None:
    elsewhere = installed(tmp_path / "spark-home", "pyspark", "py4j")
    assert without_zips([*elsewhere, str(tmp_path)]) == [*elsewhere, str(tmp_path)]


def test_a_zip_whose_package_is_not_installed_stays(tmp_path: Path) -> None:
    pyspark, py4j = installed(tmp_path / "site", "pyspark")
    assert without_zips([pyspark, py4j, str(tmp_path / "site")]) == [py4j, str(tmp_path / "site")]


def test_a_sitecustomize_of_the_user_runs_too(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.of_the_user = True")
    ours = os.path.dirname(penstock.spark.worker_site.__file__)
    code = f"import sys; print(sys.of_the_user, {ours!r} in sys.path)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((ours, str(tmp_path)))}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "False"]
