"""A release as a record of the registry of differential privacy deployments, and as metadata that search engines read.

What follows from the certificate is written from it; what only a person can say is asked (`answers`). The registry's
schema and its three tiers are those of OpenDP's deployments-registry-data of July 2026.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kagemusha.certificate.certificate import Certificate
from kagemusha.certificate.inventory import TABLES
from kagemusha.certificate.page import in_words
from kagemusha.deployment.answers import missing
from kagemusha.errors import UsageError
from kagemusha.privacy.accountants import ACCOUNTANTS
from kagemusha.schema import Schema

TIER = 3
"""All that the registry asks is answered."""


def require_guarantee(certificate: Certificate) -> None:
    """A release without a guarantee is no deployment of differential privacy."""
    if reasons := certificate.broken_because:
        raise UsageError(f"only a release with a guarantee can be registered; this one has none: {reasons[0]}")


def registry_record(certificate: Certificate, schema: Schema, answers: Mapping[str, str]) -> dict[str, Any]:
    """The record; a `UsageError` names what nobody has answered."""
    require_guarantee(certificate)
    if unanswered := missing(answers):
        raise UsageError(f"not answered yet: {', '.join(question.field for question in unanswered)}")
    promised = certificate.promised
    sector = {"data_product_sector": answers["sector"]} if "sector" in answers else {}
    name = f"Doubles of {certificate.dataset}"
    slug = re.sub(r"[^a-z0-9]+", "-", f"{answers['curator']} {name} {certificate.created[:4]}".lower())
    return {
        "url_slug": slug.strip("-"),
        "deployment": {
            "basic": {
                "name": name,
                "data_curators": [
                    {"data_curator_name": answers["curator"], "data_curator_type": answers["curator_type"]}
                ],
                "description": answers["description"],
                "intended_use": answers["intended_use"],
                "data_product_type": "Synthetic data",
                "data_product_region": answers["region"],
                **sector,
                "publication_date": certificate.created[:10],
            },
            "dp_variant": {
                "variant_name": "Approximate DP" if promised.delta else "Pure DP",
                "data_domain": _domain(schema),
                "unprotected_quantities": _unprotected(certificate, schema),
            },
            "privacy_loss": {
                "privacy_unit": certificate.of_whom,
                "privacy_unit_details": f"Two tables are adjacent if one is the other {_step(certificate)}. "
                + " ".join(s for s in certificate.required_assumptions if s.startswith("The promise covers one")),
                "privacy_parameters": {
                    "epsilon": float(promised.epsilon),
                    **({"delta": float(promised.delta)} if promised.delta else {}),
                },
                "privacy_parameters_details": in_words(promised, certificate.accounting),
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": "\n".join(f"- {sentence}" for sentence in certificate.required_assumptions),
                "actors": f"{answers['curator']} holds the table and made the release. Whoever gets the release may do "
                "with it what they like: the promise limits every reader, whatever else they know."
                + (f" Access to the table: {answers['access']}" if "access" in answers else ""),
                "release_type": "One release",
                "release_type_details": _releases(certificate),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _preprocessing(certificate),
                "mechanisms": _mechanisms(certificate),
                "composition": f"Adaptive, by {ACCOUNTANTS[certificate.accounting].words}; a filter refused every step "
                "that would have passed the budget. Totals of all steps under several accountants stand on the "
                "certificate.",
                "post_processing": "The fitted distribution, the doubles drawn from it and the quality page use "
                "released answers only; rules of the schema hold for every double.",
                "justification": answers["justification"],
                "utility": "quality.html in the release says, from released numbers, how far columns and pairs of "
                "columns of the doubles may be from the table's.",
            },
            "administrative": {
                "evidence_sources": {"certificate": _evidence(certificate, answers)},
                "status": "Draft",
                "registry_authors": [part.strip() for part in answers["authors"].split(",") if part.strip()],
                "tier": TIER,
            },
        },
    }


def _step(certificate: Certificate) -> str:
    whom = "all rows of one person" if certificate.unit_column is not None else "one person's rows"
    what = whom if certificate.of_whom == "person" else "one row"
    return f"with {what} {'exchanged' if certificate.promised.adjacency == 'replace' else 'added or taken away'}"


def _domain(schema: Schema) -> str:
    columns = ", ".join(f"{column.name} ({column.kind})" for column in schema.modelled)
    return f"All tables with these columns, read as the released schema.toml declares them: {columns}."


def _unprotected(certificate: Certificate, schema: Schema) -> str:
    public = "None that depends on the table. Public by declaration: column names, kinds, categories, bounds and rules"
    rows = "; the number of rows is public under this adjacency" if certificate.promised.unit.rows_are_public else ""
    return f"{public} in schema.toml{rows}."


def _releases(certificate: Certificate) -> str:
    cap = f" under the cap “{certificate.policy}”" if certificate.policy else ""
    return f"Release {certificate.release}{cap}. Whatever else is released of the same table adds up in the ledger."


def _preprocessing(certificate: Certificate) -> str:
    if "discovered" in certificate.parameters:
        return "Categories and bounds that were not declared were found with a share of the budget (see events)."
    return (
        "None that read the table: categories, bounds and bins were declared from public knowledge, and the method "
        "tunes itself by answers that were paid for."
    )


def _mechanisms(certificate: Certificate) -> str:
    kinds = Counter(f"{event.query.kind} ({event.kind} noise)" for event in certificate.events if event.query)
    asked = "\n".join(f"- {count} × {kind}" for kind, count in sorted(kinds.items()))
    return (
        f"Kagemusha {certificate.version}, method {certificate.method}. Noise: {certificate.noise}, drawn with "
        "OpenDP's exact samplers from the operating system's secure generator: no floating-point error to exploit. "
        f"Timing is not protected. Answers taken, each listed on the certificate:\n{asked}"
    )


def _evidence(certificate: Certificate, answers: Mapping[str, str]) -> dict[str, Any]:
    misc = {
        "title": f"Privacy certificate {certificate.digest()}",
        "author": answers["curator"],
        "year": certificate.created[:4],
        "note": "Anyone re-checks it without the data: kagemusha verify.",
        **({"url": answers["address"]} if "address" in answers else {}),
    }
    return {"evidence_source_type": "Authorized organizational attestation", "misc": misc}


_TYPES = {
    "integer": "sc:Integer",
    "real": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}


def croissant(certificate: Certificate, schema: Schema, answers: Mapping[str, str], columns: list[str]) -> str:
    """Metadata in the Croissant format (JSON-LD, schema.org), which search engines for data sets read.

    `columns` are those of the table that was released.
    """
    require_guarantee(certificate)
    (table, digest) = next((n, h) for n, h in (certificate.outputs or {}).items() if n in TABLES)
    base = answers.get("address", "").rstrip("/")
    form = "text/csv" if table.endswith(".csv") else "application/vnd.apache.parquet"
    document = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"doubles-of-{re.sub(r'[^A-Za-z0-9]+', '-', certificate.dataset).strip('-')}",
        "description": f"{answers.get('description', 'Synthetic data.')} Synthetic: no row is a person's. "
        f"{certificate.promise}, about one {certificate.of_whom}.",
        "creator": {"@type": "sc:Organization", "name": answers.get("curator", "not stated")},
        "datePublished": certificate.created[:10],
        "version": certificate.release,
        **({"url": base} if base else {}),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": table,
                "name": table,
                "contentUrl": f"{base}/{table}" if base else table,
                "encodingFormat": form,
                "sha256": digest,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "doubles",
                "name": "doubles",
                "field": [_field(name, schema, table) for name in columns],
            }
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _field(name: str, schema: Schema, table: str) -> dict[str, Any]:
    column = schema[name]
    return {
        "@type": "cr:Field",
        "@id": f"doubles/{name}",
        "name": name,
        "description": column.described(),
        "dataType": _TYPES.get(column.kind, "sc:Text"),
        "source": {"fileObject": {"@id": table}, "extract": {"column": name}},
    }


_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
"""The context that the format prescribes."""
