"""Checks of the Dockerfile and docker-compose.yml that a linter cannot make. They need no container engine."""

import ast
import importlib.metadata
import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from services.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PAGE = (ROOT / "docs" / "docker.md").read_text()

Stage = list[tuple[str, str]]  # its instructions, after those of the stage that it is built from


def read_stages() -> dict[str, Stage]:
    lines = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    stages: dict[str, Stage] = {}
    for line in filter(None, lines.splitlines()):
        word, rest = line.split(maxsplit=1)
        if word == "FROM":
            image, _, name = rest.split()
            stages[name] = [*stages.get(image, []), (word, image)]
        else:
            stages[name].append((word, rest))
    return stages


STAGES = read_stages()
TARGETS = {"api": "api", "migrate": "api", "worker": "worker", "worker-cpu": "worker"}
OURS = sorted(TARGETS)
LONG_RUNNING = sorted(SERVICES.keys() - {"migrate"})


def values(stage: str, word: str) -> list[str]:
    return [rest for instruction, rest in STAGES[stage] if instruction == word]


def environment(stage: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for line in values(stage, "ENV") for pair in shlex.split(line))


def module_of(command: list[str]) -> str:
    assert command[:2] == ["python", "-m"]
    return command[2]


def lock_of(stage: str) -> str:
    defaults = dict(line.split("=") for line in values(stage, "ARG"))
    (installation,) = [line for line in values(stage, "RUN") if "make-env" in line]
    (name,) = re.findall(r"scripts/make-env (\S+) ", installation)
    return defaults["LOCK"] if name == '"$LOCK"' else name


# The images


def test_every_base_image_is_pinned_to_a_full_version_of_a_supported_python() -> None:
    bases = {rest for stage in STAGES for rest in values(stage, "FROM") if rest not in STAGES}
    assert len(bases) == 1
    version = re.fullmatch(r"python:(\d+\.\d+\.\d+)-slim-[a-z]+", bases.pop())
    assert version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert SpecifierSet(project["requires-python"]).contains(version[1])


def test_each_image_is_installed_from_its_lock_by_the_script_of_make_env() -> None:
    assert lock_of("api-environment") == "requirements-api.lock"
    assert lock_of("worker-environment") == "requirements-gpu.lock"
    assert not [line for stage in STAGES for line in values(stage, "RUN") if "pip install" in line or "apt" in line]


@pytest.mark.parametrize("target", ["api", "worker"])
def test_an_image_copies_only_its_own_environment(target: str) -> None:
    assert [line for line in values(target, "COPY") if "--from" in line] == [
        f"--from={target}-environment /app/.venv .venv"
    ]


def test_everything_that_is_copied_exists_and_dockerignore_allows_it() -> None:
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    copied = {
        source.replace("${LOCK}", lock_of("worker-environment"))
        for stage in STAGES
        for line in values(stage, "COPY")
        if "--from" not in line
        for source in line.split()[:-1]
    }
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert [name for name in copied if not any(Path(name).match(pattern) for pattern in allowed)] == []


def test_neither_image_contains_the_other_package_or_tests() -> None:
    own = {target: {line.split()[0] for line in values(target, "COPY")} for target in ("api", "worker")}
    assert own["api"] - own["worker"] == {"--from=api-environment", "api"}
    assert own["worker"] - own["api"] == {"--from=worker-environment", "worker"}


@pytest.mark.parametrize("target", ["api", "worker"])
def test_every_import_of_the_sources_in_an_image_is_in_its_lock(target: str) -> None:
    lock = (ROOT / lock_of(f"{target}-environment")).read_text()
    installed = set(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    copied = {line.split()[0] for line in values(target, "COPY")} - {f"--from={target}-environment"}
    owners = importlib.metadata.packages_distributions()
    for name in sorted(imported(copied) - sys.stdlib_module_names - copied):
        assert {owner.lower().replace("_", "-") for owner in owners[name]} & installed, name


API_WITH_LOCKED_PACKAGES_ONLY = """
import importlib.metadata, sys
owners = importlib.metadata.packages_distributions()
installed = set(sys.argv[1].split())
hidden = {name for name, all in owners.items() if not {one.lower().replace("_", "-") for one in all} & installed}

class Hide:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide)
import api.app, api.__main__, services.setup
from services.domain import catalogue, pipeline_config
from services.broker import make_celery
from services.store.engine import make_engine
assert str(pipeline_config.build_config(catalogue.get("efficientdet_d0"), 3))
make_celery("redis://:x@127.0.0.1:1/0").connection_for_write().transport
make_engine("postgresql+psycopg://x@127.0.0.1/x").dialect
print("hidden:", *sorted(hidden))
"""


def test_the_api_runs_with_the_packages_of_its_lock_only() -> None:
    """Packages may import more than they declare, so all other packages are hidden from the import system."""
    lock = (ROOT / "requirements-api.lock").read_text()
    installed = " ".join(re.findall(r"^([a-z0-9._-]+)==", lock, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "-c", API_WITH_LOCKED_PACKAGES_ONLY, installed],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert {"tensorflow", "pytest", "uv"} <= set(done.stdout.split())


def imported(folders: set[str]) -> set[str]:
    """The top-level names that the Python files in these folders import, anywhere in a file."""
    names = set()
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("target", ["api", "worker"])
def test_an_image_runs_as_a_fixed_user_that_owns_the_data(target: str) -> None:
    assert values(target, "USER") == ["10001:10001"]
    assert any("--uid 10001" in line and "--mode 0700 /data" in line for line in values(target, "RUN"))
    assert values(target, "VOLUME") == [environment(target)["DOWNSHIFT_HOME"]] == ["/data"]
    assert environment(target)["PYTHONUNBUFFERED"] == "1"


@pytest.mark.parametrize("target", ["api", "worker"])
def test_the_command_and_health_check_of_an_image_are_modules_that_exist(target: str) -> None:
    commands = [*values(target, "CMD"), *(line.split("CMD")[1] for line in values(target, "HEALTHCHECK"))]
    assert len(commands) == 2
    modules = [words[2] for words in map(yaml.safe_load, commands) if words[1] == "-m"]
    assert target in modules
    for name in modules:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert not spec.submodule_search_locations or importlib.util.find_spec(f"{name}.__main__")


def test_the_api_listens_on_the_port_of_its_health_check() -> None:
    address = environment("api")["DOWNSHIFT_BIND"]
    port = address.rpartition(":")[2]
    assert values("api", "EXPOSE") == [port]
    assert f"http://127.0.0.1:{port}/healthz" in values("api", "HEALTHCHECK")[0]
    assert SERVICES["api"]["environment"]["DOWNSHIFT_BIND"] == address


# The services


def test_the_compose_file_has_the_expected_services() -> None:
    assert {name for name, service in SERVICES.items() if "profiles" not in service} == {
        "api",
        "worker",
        "redis",
        "postgres",
        "migrate",
    }


@pytest.mark.parametrize("name", OURS)
def test_our_services_are_built_from_the_dockerfile_and_start_a_module_of_their_image(name: str) -> None:
    service = SERVICES[name]
    assert service["build"]["target"] == TARGETS[name]
    module = module_of(service["command"])
    assert importlib.util.find_spec(module) is not None
    assert module.split(".")[0] in [line.split()[0] for line in values(TARGETS[name], "COPY")]
    if name == TARGETS[name]:
        assert service["command"] == yaml.safe_load(values(name, "CMD")[0])


@pytest.mark.parametrize("name", ["redis", "postgres"])
def test_external_images_are_pinned_to_a_full_version(name: str) -> None:
    assert re.fullmatch(r"redis:\d+\.\d+\.\d+(-\w+)?|postgres:\d+\.\d+(-\w+)?", SERVICES[name]["image"])


@pytest.mark.parametrize("name", OURS)
def test_every_setting_of_a_service_exists_and_is_valid(name: str) -> None:
    given = {
        key: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", re.sub(r"\$\{\w+:\?[^}]*\}", "secret", value))
        for key, value in SERVICES[name]["environment"].items()
        if key.startswith("DOWNSHIFT_")
    }
    settings = Settings.from_environment(given)
    assert settings.database_url == "postgresql+psycopg://downshift:secret@postgres:5432/downshift"
    assert settings.broker_url == "redis://:secret@redis:6379/0"


def test_passwords_have_no_default_and_are_required() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    uses = re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", text)
    secrets = [(name, rest) for name, rest in uses if "PASSWORD" in name]
    assert {name for name, _ in secrets} == {"POSTGRES_PASSWORD", "REDIS_PASSWORD"}
    assert all(rest.startswith(":?") for _, rest in secrets)
    assert all(rest.startswith(":-") for name, rest in uses if "PASSWORD" not in name)
    assert re.findall(r"^(\w*PASSWORD)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE) == [
        ("POSTGRES_PASSWORD", ""),
        ("REDIS_PASSWORD", ""),
    ]


def test_every_variable_is_in_the_example() -> None:
    names = set(re.findall(r"(?<!\$)\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    assert names == set(re.findall(r"^#?([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_no_password_is_on_a_command_line() -> None:
    assert not [service for service in SERVICES.values() if "PASSWORD:" in str(service.get("command"))]
    assert "redis-server - <<SETTINGS\nrequirepass $$REDIS_PASSWORD\n" in SERVICES["redis"]["command"][-1]


def test_only_the_api_is_published_and_by_default_to_this_machine_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"api": ["${PUBLISH:-127.0.0.1:8080}:8080"]}
    assert not [name for name, service in SERVICES.items() if "network_mode" in service]


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_long_running_services_have_a_health_check_and_are_restarted(name: str) -> None:
    assert SERVICES[name]["restart"] == "unless-stopped"
    assert "healthcheck" in SERVICES[name] or values(TARGETS[name], "HEALTHCHECK")


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_service_can_gain_privileges(name: str) -> None:
    assert SERVICES[name]["security_opt"] == ["no-new-privileges:true"]
    assert not SERVICES[name].keys() & {"privileged", "cap_add"}
    assert name == "postgres" or SERVICES[name]["cap_drop"] == ["ALL"]


def test_services_start_after_the_migration_and_that_after_the_database() -> None:
    assert SERVICES["migrate"]["restart"] == "no"
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker", "worker-cpu"):
        assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_our_services_share_the_data_and_every_volume_is_declared() -> None:
    assert {name for name, service in SERVICES.items() if "data:/data" in service.get("volumes", [])} == set(OURS)
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == COMPOSE["volumes"].keys()


@pytest.mark.parametrize("name", ["worker", "worker-cpu"])
def test_a_worker_has_a_fixed_host_name_and_its_orphans_are_collected(name: str) -> None:
    """A container's own name changes with every new one, and devices and leases are found by the host name."""
    assert SERVICES[name]["environment"]["DOWNSHIFT_HOST"]
    assert SERVICES[name]["init"] is True
    shares_process_ids = SERVICES[name].get("pid") == "host"
    assert shares_process_ids == ("TINI_SUBREAPER" in SERVICES[name]["environment"])


def test_the_worker_has_the_gpus_and_the_cpu_worker_uses_the_base_lock() -> None:
    (devices,) = SERVICES["worker"]["deploy"]["resources"]["reservations"]["devices"]
    assert devices == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert SERVICES["worker"]["pid"] == "host"
    assert "args" not in SERVICES["worker"]["build"]
    lock = SERVICES["worker-cpu"]["build"]["args"]["LOCK"]
    assert lock == "requirements.lock"
    assert (ROOT / lock).exists()
    assert "deploy" not in SERVICES["worker-cpu"]


# docs/docker.md


def test_the_documentation_names_the_command_of_each_service_and_no_others() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| `(python -m [\w.]+)` \|", PAGE, re.MULTILINE))
    assert rows == {name: " ".join(SERVICES[name]["command"]) for name in OURS}
    named = re.findall(r"docker compose (?:exec|restart) ([\w-]+)", PAGE)
    named += " ".join(re.findall(r"^docker compose up --detach ([\w -]+)$", PAGE, re.MULTILINE)).split()
    assert {"api", "worker-cpu"} <= set(named) <= SERVICES.keys()
