"""The page of metrics, the dashboards and the alert rules: they say what the code says, and name nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from common.telemetry.documentation import page
from common.telemetry.table import SERVICES, Kind, all_metrics

OBSERVABILITY = Path("deploy/observability")

# What Prometheus itself or its Python client tells, as far as it is used.
FOREIGN = {
    "up": (),
    "process_cpu_seconds_total": (),
    "process_max_fds": (),
    "process_open_fds": (),
    "process_resident_memory_bytes": (),
    "process_start_time_seconds": (),
}
FROM_THE_SCRAPE = {"job", "instance"}
SUFFIXES = {Kind.HISTOGRAM: ("_bucket", "_count", "_sum")}


def known() -> dict[str, set[str]]:
    """The labels of every series that there is."""
    series: dict[str, set[str]] = {name: FROM_THE_SCRAPE | set(labels) for name, labels in FOREIGN.items()}
    for row in all_metrics():
        labels = FROM_THE_SCRAPE | set(row.labels)
        for suffix in SUFFIXES.get(row.kind, ("",)):
            series[row.name + suffix] = labels | ({"le"} if suffix == "_bucket" else set())
    return series


def alert_rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((OBSERVABILITY / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def dashboard_targets() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted((OBSERVABILITY / "dashboards").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            for target in panel.get("targets", []):
                yield f"{file.name}: {panel['title']}", target


def expressions() -> list[tuple[str, str]]:
    rules = [(rule["alert"], rule["expr"]) for rule in alert_rules()]
    panels = [(place, target["expr"].replace("$__rate_interval", "5m")) for place, target in dashboard_targets()]
    return rules + panels


def selectors(expression: str) -> list[tuple[str, set[str]]]:
    """Every series that is read, with the labels by which it is chosen."""
    found: list[tuple[str, set[str]]] = []

    def visit(node: Any) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append((str(node.name), {matcher.name for matcher in node.matchers.matchers}))
        return True

    promql_parser.walk(promql_parser.parse(expression), visit)
    return found


def grouping(expression: str) -> set[str]:
    """The labels that the expression groups or joins by."""
    lists = re.findall(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)", expression)
    return {label.strip() for listed in lists for label in listed.split(",") if label.strip()}


def test_there_is_something_to_check() -> None:
    assert len(alert_rules()) > 15
    assert len(list(dashboard_targets())) > 30


@pytest.mark.parametrize(("place", "expression"), expressions())
def test_an_expression_names_what_is_told(place: str, expression: str) -> None:
    series = known()
    read = selectors(expression)
    assert read, place
    labels = set.union(*(series.get(name, set()) for name, _ in read))
    for name, chosen_by in read:
        assert name in series, f"{place}: nobody tells {name}"
        assert chosen_by <= series[name], f"{place}: {name} has no {chosen_by - series[name]}"
    assert grouping(expression) <= labels, place


@pytest.mark.parametrize(("place", "target"), list(dashboard_targets()))
def test_a_legend_shows_labels_that_are_left(place: str, target: dict[str, Any]) -> None:
    shown = set(re.findall(r"{{\s*(\w+)\s*}}", target["legendFormat"]))
    kept = grouping(target["expr"]) or set.union(
        *(known()[name] for name, _ in selectors(target["expr"].replace("$__rate_interval", "5m")))
    )
    assert shown <= kept, place


def test_a_metric_that_does_not_exist_is_found() -> None:
    with pytest.raises(AssertionError, match="nobody tells"):
        test_an_expression_names_what_is_told("here", "rate(shoppingx_turns_total[5m])")
    with pytest.raises(AssertionError, match="has no"):
        test_an_expression_names_what_is_told("here", 'shoppingx_work_records{user="alice"}')
    with pytest.raises(AssertionError, match="here"):
        test_an_expression_names_what_is_told("here", "sum by (user) (shoppingx_work_records)")


def test_label_values_in_expressions_are_ones_of_services() -> None:
    jobs = {
        job for _, text in expressions() for found in re.findall(r'job=~?"([^"]*)"', text) for job in found.split("|")
    }
    assert jobs == set(SERVICES)
    scraped = yaml.safe_load((OBSERVABILITY / "prometheus.yml").read_text())["scrape_configs"]
    assert {each["job_name"] for each in scraped} == set(SERVICES)


def test_every_alert_says_how_urgent_it_is_and_what_to_look_at() -> None:
    names = [rule["alert"] for rule in alert_rules()]
    assert len(names) == len(set(names))
    for rule in alert_rules():
        assert rule["labels"]["severity"] in ("page", "ticket"), rule["alert"]
        assert {"summary", "look_at"} <= set(rule["annotations"]), rule["alert"]


def test_every_metric_is_looked_at_somewhere() -> None:
    read = {name for _, expression in expressions() for name, _ in selectors(expression)}
    unread = {row.name for row in all_metrics() if not any(name.startswith(row.name) for name in read)}
    assert unread == set()


def test_the_page_of_metrics_is_current() -> None:
    assert Path("docs/metrics.md").read_text() == page(), "run `make metrics`"


def test_no_label_is_about_a_person() -> None:
    for row in all_metrics():
        assert not {"user_id", "user", "tenant_id", "tenant", "session_id", "turn_id"} & set(row.labels), row.name
        assert row.help, row.name
        assert row.name.endswith("_total") == (row.kind is Kind.COUNTER), row.name
        assert bool(row.buckets) == (row.kind is Kind.HISTOGRAM), row.name
