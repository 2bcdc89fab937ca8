from pathlib import Path

from penstock.spark.pipeline.core.model import Pipeline

SHOP = Pipeline(name="shop", directory="/files", sources=(), outputs=())


def test_paths_are_relative_to_the_file_and_urls_are_not(tmp_path: Path) -> None:
    assert SHOP.resolve("lake/x") == "/files/lake/x"
    assert SHOP.resolve(str(tmp_path)) == str(tmp_path)
    assert SHOP.resolve("s3a://bucket/x") == "s3a://bucket/x"
