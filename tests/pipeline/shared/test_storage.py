"""Settings of stores, in the order in which Spark takes them."""

from pathlib import Path

from seqaudit.pipeline.shared.storage import storage_of

CORE_SITE = """<?xml version="1.0"?>
<configuration>
  <property><name>fs.s3a.access.key</name><value>of core-site</value></property>
  <property><name> fs.s3a.path.style.access </name><value>true</value></property>
  <property><name>fs.defaultFS</name><value>hdfs://nn</value></property>
</configuration>
"""
DEFAULTS = """
# a comment
spark.hadoop.fs.s3a.secret.key   of the defaults
spark.hadoop.fs.s3a.endpoint=http://defaults:9000
spark.executor.memory: 1g
"""


def test_the_nearest_setting_counts(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(CORE_SITE)
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    environment = {
        "HADOOP_CONF_DIR": str(tmp_path),
        "SPARK_CONF_DIR": str(tmp_path),
        "AWS_ACCESS_KEY_ID": "of AWS",
        "AWS_SECRET_ACCESS_KEY": "of AWS",
        "AWS_ENDPOINT_URL": "http://aws:9000",
    }
    given = [("spark.hadoop.fs.s3a.endpoint", "http://given:9000"), ("spark.cores.max", "2")]
    assert dict(storage_of(given, environment)) == {
        "fs.s3a.access.key": "of AWS",
        "fs.s3a.secret.key": "of the defaults",
        "fs.s3a.endpoint": "http://given:9000",
        "fs.s3a.path.style.access": "true",
    }


def test_spark_has_its_defaults_in_its_home_too(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    found = storage_of((), {"SPARK_HOME": str(tmp_path)})
    assert dict(found)["fs.s3a.secret.key"] == "of the defaults"


def test_without_any_there_are_none_and_a_spoiled_file_is_none(tmp_path: Path) -> None:
    assert storage_of((), {}) == ()
    (tmp_path / "core-site.xml").write_text("<configuration>")
    assert storage_of((), {"HADOOP_CONF_DIR": str(tmp_path), "SPARK_CONF_DIR": "/nowhere"}) == ()
