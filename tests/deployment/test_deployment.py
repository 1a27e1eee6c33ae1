"""Records, metadata and dossiers: what the registry demands, what only a person can say, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml as other_yaml
from hypothesis import given
from hypothesis import strategies as st

from command import Run, checked, in_this_process
from kagemusha.deployment import yaml
from kagemusha.deployment.answers import CURATORS, QUESTIONS, SECTORS, keep_answers, read_answers
from kagemusha.deployment.dossier import hidden_below
from kagemusha.door import fit, publish
from kagemusha.errors import OutputError, SchemaError
from kagemusha.forensics.verify import verify_release
from kagemusha.schema import Category, Integer, Schema

pd = pytest.importorskip("pandas")

ANSWERS = {
    "curator": "General Hospital",
    "curator_type": "Nonprofit",
    "description": 'Visits to wards: "four" of them,\nof a made hospital. ' * 3,
    "intended_use": "Teaching.",
    "region": "日本",
    "justification": "The board chose ε = 1.",
    "authors": "A. Sato, B. Meyer",
}
SCHEMA = Schema(
    [Category("ward", categories=("surgery", "icu"), out_of_domain="clip"), Integer("age", lower=0, upper=99, bins=10)]
)
REQUIRED = {
    "basic": {
        "name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region",
        "publication_date",
    },
    "administrative": {"status", "registry_authors", "tier"},
}  # fmt: skip
"""What the registry demands of every record (its schema of July 2026)."""
TIER_3 = {
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
    "deployment_model": {
        "model_name", "trust_assumptions", "actors", "release_type", "release_type_details", "data_source_type",
        "access_type",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning", "mechanisms", "composition", "post_processing", "justification",
        "utility",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployment")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"ward": rng.choice(["surgery", "icu"], 500), "age": rng.integers(0, 100, 500)})
    ledger = folder / "ledger.db"
    model = fit("independent", table, 1.0, schema=SCHEMA, ledger=ledger, dataset="visits")
    publish(model, folder / "doubles", ledger=ledger)
    return folder


@pytest.fixture
def here(release: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    SCHEMA.save(tmp_path / "visits.toml")

    def run(*arguments: object, code: int = 0) -> Any:
        return checked(in_this_process([str(a) for a in arguments]), code)

    return run


def test_a_record_has_all_that_the_registry_asks(here: Run, release: Path, tmp_path: Path) -> None:
    keep_answers(tmp_path / "visits.toml", ANSWERS)
    here("register", release / "doubles", "--schema", "visits.toml", "--out", "record")
    record = other_yaml.safe_load((tmp_path / "record" / "deployment.yaml").read_text(encoding="utf-8"))
    assert set(record) == {"url_slug", "deployment"}
    assert set(record["deployment"]) == set(REQUIRED) | set(TIER_3)
    for section, fields in (REQUIRED | TIER_3).items():
        assert fields <= set(record["deployment"][section])
        assert all(record["deployment"][section][field] for field in fields)
    basic, loss = record["deployment"]["basic"], record["deployment"]["privacy_loss"]
    assert basic["data_curators"] == [{"data_curator_name": "General Hospital", "data_curator_type": "Nonprofit"}]
    assert basic["data_product_type"] == "Synthetic data"
    assert isinstance(basic["publication_date"], str), "a date in quotes, as the registry wants it"
    assert basic["description"] == ANSWERS["description"].strip()
    assert loss["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-9}
    assert record["deployment"]["administrative"]["registry_authors"] == ["A. Sato", "B. Meyer"]
    assert "2 × counts" in record["deployment"]["implementation"]["mechanisms"]


def test_metadata_name_the_table_by_its_hash(here: Run, release: Path, tmp_path: Path) -> None:
    keep_answers(tmp_path / "visits.toml", {**ANSWERS, "address": "https://example.org/d/"})
    here("register", release / "doubles", "--schema", "visits.toml", "--out", "record")
    found = json.loads((tmp_path / "record" / "croissant.json").read_text(encoding="utf-8"))
    (table,) = found["distribution"]
    certificate = json.loads((release / "doubles" / "certificate.json").read_text(encoding="utf-8"))
    assert table["sha256"] == certificate["outputs"]["synthetic.csv"]
    assert table["contentUrl"] == "https://example.org/d/synthetic.csv"
    assert [f["name"] for f in found["recordSet"][0]["field"]] == ["ward", "age"]


def test_what_nobody_answered_is_named_and_nothing_is_written(here: Run, release: Path, tmp_path: Path) -> None:
    asked = here("register", release / "doubles", "--schema", "visits.toml", code=2)
    assert "[deployment]" in asked.stdout
    assert "justification" in asked.stderr
    assert not list(tmp_path.glob("*record"))
    keep_answers(tmp_path / "visits.toml", {**ANSWERS, "curator_type": "Club"})
    refused = here("register", release / "doubles", "--schema", "visits.toml", code=3)
    assert "curator_type: must be one of Government, Industry, Nonprofit" in refused.stderr


def test_a_record_is_not_written_into_a_release_or_over_another(here: Run, release: Path, tmp_path: Path) -> None:
    keep_answers(tmp_path / "visits.toml", ANSWERS)
    inside = release / "doubles" / "record"
    assert "is in the release" in here(
        "register", release / "doubles", "--schema", "visits.toml", "--out", inside, code=2
    ).stderr  # fmt: skip
    (tmp_path / "record").mkdir()
    assert "--force" in here(
        "register", release / "doubles", "--schema", "visits.toml", "--out", "record", code=OutputError.exit_code
    ).stderr  # fmt: skip


def test_without_a_guarantee_there_is_no_deployment(here: Run, tmp_path: Path) -> None:
    table = pd.DataFrame({"ward": ["icu"] * 50, "age": [30] * 50})
    model = fit("independent", table, 1.0, schema=SCHEMA, simulation=1)
    publish(model, tmp_path / "sim")
    keep_answers(tmp_path / "visits.toml", ANSWERS)
    refused = here("register", "sim", "--schema", "visits.toml", code=2)
    assert "only a release with a guarantee" in refused.stderr
    here("dossier", "sim")
    assert "No guarantee" in (tmp_path / "sim-dossier.html").read_text(encoding="utf-8")


def test_answers_leave_the_file_as_it_was_and_the_schema_the_same(tmp_path: Path) -> None:
    path = tmp_path / "visits.toml"
    SCHEMA.save(path)
    text = path.read_text(encoding="utf-8") + "# our own comment\n"
    path.write_text(text, encoding="utf-8")
    keep_answers(path, ANSWERS)
    assert path.read_text(encoding="utf-8").startswith(text)
    assert read_answers(path) == {field: answer.strip() for field, answer in ANSWERS.items()}
    assert Schema.load(path).digest() == SCHEMA.digest()
    path.write_text(text + '[deployment]\ncurater = "x"\n', encoding="utf-8")
    with pytest.raises(SchemaError, match="no entry 'curater'"):
        read_answers(path)


def test_a_dossier_says_what_is_known_and_marks_what_is_not(here: Run, release: Path, tmp_path: Path) -> None:
    here("dossier", release / "doubles", "--ledger", release / "ledger.db", "--out", "d.html")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert page.count("not answered") == len(QUESTIONS)
    assert "of which 100% is used" in page
    keep_answers(tmp_path / "visits.toml", {**ANSWERS, "collection": "At admission.", "access": "<script>two</script>"})
    here("dossier", release / "doubles", "--schema", "visits.toml", "--out", "d.html", "--force")
    page = (tmp_path / "d.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "missing" not in page.split("<h2>")[0]
    assert "not given for this page" in page


def test_cells_below_the_threshold_cannot_be_told_from_empty_ones(release: Path) -> None:
    """The sentence of disclosure control, by drawing the noise that the certificate states."""
    certificate = verify_release(release / "doubles").certificate
    rng = np.random.default_rng(3)
    found = hidden_below(certificate)
    assert {one.columns for one in found} == {("ward",), ("age",)}
    sigma = {event.what: event.deviation for event in certificate.events}
    noise = rng.normal(0, min(sigma.values()), 100_000)
    least = min(one.people for one in found)
    assert np.mean(np.abs(noise) > least) < 0.05 < np.mean(np.abs(noise) > 0.9 * least) + 0.02


def test_a_release_that_does_not_hold_gets_no_page(here: Run, release: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(release / "doubles", tmp_path / "forged")
    (tmp_path / "forged" / "synthetic.csv").write_text("ward,age\nicu,1\n")
    here("dossier", "forged", code=8)
    here("register", "forged", code=8)
    assert not (tmp_path / "forged-dossier.html").exists()


def test_questions_are_asked_once_each() -> None:
    assert len({question.field for question in QUESTIONS}) == len(QUESTIONS)
    assert all(not question.fault(question.example) for question in QUESTIONS)
    assert "Healthcare" in SECTORS
    assert "Government" in CURATORS


TEXTS = st.text(max_size=120)
VALUES = st.recursive(
    TEXTS | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    lambda inner: st.dictionaries(st.from_regex(r"k[a-z_]{1,8}", fullmatch=True), inner, min_size=1, max_size=4),
    max_leaves=6,
)


@given(st.dictionaries(st.from_regex(r"k[a-z_]{1,8}", fullmatch=True), VALUES, min_size=1, max_size=4))
def test_another_reader_of_yaml_reads_what_was_written(data: dict[str, Any]) -> None:
    assert other_yaml.safe_load(yaml.dumps(data)) == data
