"""The software bill of materials of a release, in CycloneDX's form."""

from typing import Any

from tools.dependency_lock import Package


def compose_bill(packages: list[Package], made_at: str) -> dict[str, Any]:
    """CycloneDX 1.6 of an installation: `packages` with ours first, `made_at` as ISO 8601 in UTC."""
    ours, *others = (describe_package(package) for package in packages)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": made_at, "component": {**ours, "type": "application"}},
        "components": others,
    }


def describe_package(package: Package) -> dict[str, Any]:
    """One component of the bill."""
    address = f"pkg:pypi/{package.name}@{package.version}"
    licenses = [{"expression": package.license}] if package.license else []
    return {
        "type": "library",
        "bom-ref": address,
        "name": package.name,
        "version": package.version,
        "purl": address,
        "hashes": [{"alg": "SHA-256", "content": package.sha256}],
        **({"licenses": licenses} if licenses else {}),
    }
