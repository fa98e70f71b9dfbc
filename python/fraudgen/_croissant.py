"""Croissant metadata of a folder (https://docs.mlcommons.org/croissant/docs/croissant-spec.html)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, Union

from fraudgen import _native

_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
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
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {"text": "sc:Text", "category": "sc:Text", "boolean": "sc:Boolean", "integer": "sc:Integer",
          "decimal": "sc:Float", "date": "sc:Date", "timestamp": "sc:DateTime"}
_FORMATS = {"parquet": "application/x-parquet", "arrow": "application/vnd.apache.arrow.file", "csv": "text/csv",
            "tsv": "text/tab-separated-values", "json": "application/json", "jsonl": "application/jsonlines"}


def _source(table: str, column: str, extension: str, in_name: bool) -> dict[str, Any]:
    source: dict[str, Any] = {"fileSet": {"@id": f"{table}-files"}}
    if in_name:  # a value of a Hive partition is only in the names of its files
        return {**source, "extract": {"fileProperty": "fullpath"},
                "transform": {"regex": f"(?:.*/)?{re.escape(column)}=([^/]*)/.*"}}
    if extension == "json":
        return {**source, "extract": {"jsonPath": f"$[*].{column}"}}
    return {**source, "extract": {"column": column}}


def _fields(table: dict[str, Any], extension: str, partition: list[str]) -> Iterator[dict[str, Any]]:
    for column in table["columns"]:
        name = column["name"]
        unit = f", in {column['unit']}" if column["unit"] else ""
        yield {"@type": "cr:Field", "@id": f"{table['name']}/{name}", "name": name,
               "description": column["meaning"] + unit, "dataType": _TYPES[column["type"]],
               "source": _source(table["name"], name, extension, name in partition)}


def croissant(folder: Union[str, "os.PathLike[str]"], **properties: object) -> dict[str, Any]:
    """Returns Croissant metadata of a complete data set, to be written as JSON into its folder, as `croissant.jsonld`.

    Keyword arguments are further properties of the data set, such as `license`, `url`, `creator`, `datePublished`, or
    replace those that there are (`name`, `description`). Raises FileNotFoundError if the data set is not complete.

    >>> fraudgen.croissant("data", license="https://creativecommons.org/publicdomain/zero/1.0/")["@type"]
    'sc:Dataset'
    """
    found = _native.describe(os.fspath(folder))
    if found["nested"]:
        raise ValueError("nested columns cannot be described; generate the data without `--nested`")
    extension, _, codec = found["extension"].partition(".")
    if codec not in ("", "gz"):
        raise ValueError(f"Croissant has no name for text that is compressed by .{codec}; use gzip or none")
    tables = [table for table in found["tables"] if found["rows"].get(table["name"])]
    folders = "**/" if found["partition"] else ""
    sizes = ", ".join(f"{found['rows'][table['name']]} {table['name']}" for table in tables)
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": os.path.basename(os.path.abspath(folder)),
        "description": f"Synthetic Brazilian bank and ride data with labelled fraud: {sizes}. Made by "
                       f"{found['program']}, model {found['model']}, seed {found['seed']}; no row describes a person.",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **properties,
        "distribution": [
            {"@type": "cr:FileSet", "@id": f"{table['name']}-files", "name": f"{table['name']}-files",
             "description": f"Files of {table['name']}.", "encodingFormat": _FORMATS[extension],
             "includes": f"{table['name']}/{folders}*.{found['extension']}"} for table in tables],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": table["name"], "name": table["name"], "description": table["meaning"],
             "field": list(_fields(table, extension, found["partition"]))} for table in tables],
    }
