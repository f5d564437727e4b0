"""The images hold one service each and nothing that helps an intruder; one door is open."""

import json
import re
from pathlib import Path

import pytest
from tests.containers.system import SystemInContainers, inspect

from devstack.compose.project import run

FOLDERS = {
    "gateway": "services/gateway",
    "agent": "services/agent",
    "curator": "services/curator",
    "memory": "services/memory",
    "offline-model": "libs/offline_model",
}

_INSTALLED = "import importlib.metadata as m; print(*sorted(d.name + '==' + d.version for d in m.distributions()))"
_PIN = re.compile(r"^([a-z0-9._-]+)==(\S+)(?: ; .*)? \\$", re.MULTILINE)


def pinned_in(folder: str) -> set[str]:
    pins = _PIN.findall(Path(folder, "requirements.lock").read_text())
    return {normal(f"{name}=={version}") for name, version in pins}


async def inside(system: SystemInContainers, service: str, *command: str) -> str:
    return await run("docker", "exec", (await system.replicas(service))[0], *command)


def normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()


@pytest.mark.parametrize(("service", "folder"), FOLDERS.items())
async def test_an_image_has_its_own_pinned_dependencies_only(
    system: SystemInContainers, service: str, folder: str
) -> None:
    installed = {normal(each) for each in (await inside(system, service, "python", "-c", _INSTALLED)).split()}
    ours = {each for each in installed if each.startswith("shoppingx-")}
    assert f"shoppingx-{service}" in {each.partition("==")[0] for each in ours}
    assert installed - ours <= pinned_in(folder)


@pytest.mark.parametrize("service", FOLDERS)
async def test_a_service_runs_as_nobody_special_without_tools(system: SystemInContainers, service: str) -> None:
    assert (await inside(system, service, "id", "-u")).strip() == "10001"
    tools = "for tool in gcc cc g++ make pip uv; do command -v $tool; done; true"
    assert (await inside(system, service, "sh", "-c", f"PATH=/opt/service/bin:/usr/bin:/bin; {tools}")) == ""
    probe = "touch /opt/service/x 2>/dev/null || touch /var/lib/shoppingx/x 2>/dev/null || echo refused"
    assert (await inside(system, service, "sh", "-c", probe)).strip() == "refused"


async def test_only_the_load_balancer_and_valkey_for_development_are_published_on_loopback(
    system: SystemInContainers,
) -> None:
    published = {}
    for service in (*FOLDERS, "postgres", "valkey", "load-balancer"):
        for container in await system.replicas(service):
            ports = json.loads(await inspect(container, "{{json .NetworkSettings.Ports}}"))
            bindings = [binding for listed in ports.values() for binding in listed or []]
            if bindings:
                published[service] = {binding["HostIp"] for binding in bindings}
    assert published == {"load-balancer": {"127.0.0.1"}, "valkey": {"127.0.0.1"}}


async def test_the_metrics_of_a_gateway_are_not_public(system: SystemInContainers) -> None:
    async with system.client() as client:
        assert (await client.get("/metrics")).status_code == 404
