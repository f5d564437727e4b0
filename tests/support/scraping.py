"""Reading a service's metrics as Prometheus would."""

from dataclasses import dataclass

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from common.telemetry.table import Kind, Metric


@dataclass(frozen=True)
class Scraped:
    """What `/metrics` said: the families by name, and all samples with their labels."""

    families: frozenset[str]
    samples: tuple[tuple[str, dict[str, str], float], ...]
    text: str

    def value(self, row: Metric, **labels: str) -> float:
        """The sum over all series of the metric with these labels; of a histogram, the number of observations."""
        name = f"{row.name}_count" if row.kind is Kind.HISTOGRAM else row.name
        return sum(value for sample, has, value in self.samples if sample == name and labels.items() <= has.items())


async def scrape(base_url: str) -> Scraped:
    async with httpx2.AsyncClient(base_url=base_url, trust_env=False, timeout=10.0) as client:
        answer = await client.get("/metrics")
    assert answer.status_code == 200, answer.text
    return parse(answer.text)


def parse(text: str) -> Scraped:
    families = list(text_string_to_metric_families(text))
    return Scraped(
        families=frozenset(f"{each.name}_total" if each.type == "counter" else each.name for each in families),
        samples=tuple((sample.name, sample.labels, sample.value) for each in families for sample in each.samples),
        text=text,
    )
