"""Readers of the environment: what they accept, and that a refusal names the variable and shows no password."""

from collections.abc import Callable
from ipaddress import ip_network

import pytest
from django.core.exceptions import ImproperlyConfigured

from median_site.lib import env

NAME = "MEDIAN_TEST_VARIABLE"


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    monkeypatch.delenv(NAME, raising=False)
    return lambda value: monkeypatch.setenv(NAME, value)


@pytest.mark.parametrize("value", [None, "", "  "])
@pytest.mark.parametrize("read", [env.text, env.flag, env.integer, env.url, env.database_url])
def test_unset_and_blank_fail_without_a_default(
    read: Callable[[str], object], value: str | None, write: Callable[[str], None]
) -> None:
    if value is not None:
        write(value)
    with pytest.raises(ImproperlyConfigured, match=f"^{NAME} must be set.$"):
        read(NAME)


@pytest.mark.usefixtures("write")
def test_defaults() -> None:
    assert env.text(NAME, default="") == ""
    assert env.flag(NAME, default=False) is False
    assert env.flag(NAME, default=True) is True
    assert env.integer(NAME, default=0) == 0
    assert env.csv(NAME) == []
    assert env.csv(NAME, default=["localhost", "127.0.0.1"]) == ["localhost", "127.0.0.1"]
    assert env.url(NAME, default="") == ""
    assert env.networks(NAME) == []
    assert env.networks(NAME, default=["10.0.0.0/8"]) == [ip_network("10.0.0.0/8")]


def test_text_is_trimmed(write: Callable[[str], None]) -> None:
    write("  a b\n")
    assert env.text(NAME) == "a b"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(value, True) for value in ("1", "true", "Yes", "ON")] + [(value, False) for value in ("0", "False", "no", "off")],
)
def test_flag(value: str, expected: bool, write: Callable[[str], None]) -> None:
    write(value)
    assert env.flag(NAME, default=not expected) is expected


def test_flag_refuses_anything_else(write: Callable[[str], None]) -> None:
    write("ture")
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be true or false, not 'ture'."):
        env.flag(NAME)


def test_integer(write: Callable[[str], None]) -> None:
    write("-12")
    assert env.integer(NAME, minimum=-12, maximum=-12) == -12


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("8.5", f"{NAME} must be a whole number, not '8.5'."),
        ("0", f"{NAME} must be at least 1, not 0."),
        ("65536", f"{NAME} must be at most 65535, not 65536."),
    ],
)
def test_integer_refuses(value: str, message: str, write: Callable[[str], None]) -> None:
    write(value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.integer(NAME, minimum=1, maximum=65_535)
    assert str(refusal.value) == message


def test_csv(write: Callable[[str], None]) -> None:
    write(" a, b c ,,d,")
    assert env.csv(NAME) == ["a", "b c", "d"]


@pytest.mark.parametrize("value", ["https://median.example", "http://127.0.0.1:8000", "http://[::1]:80/a/b"])
def test_url(value: str, write: Callable[[str], None]) -> None:
    write(f"{value}/")
    assert env.url(NAME) == value


@pytest.mark.parametrize(
    "value", ["median.example", "ftp://a.example", "https://", "https://:80", "http://[::1", "http://a:port", "data:a"]
)
def test_url_refuses(value: str, write: Callable[[str], None]) -> None:
    write(value)
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be a URL that starts with https:// or http://."):
        env.url(NAME)


def test_networks(write: Callable[[str], None]) -> None:
    write("127.0.0.0/8, ::1,10.1.2.3")
    assert env.networks(NAME) == [ip_network("127.0.0.0/8"), ip_network("::1/128"), ip_network("10.1.2.3/32")]


@pytest.mark.parametrize("value", ["127.0.0.1/8", "localhost", "10.0.0.0/33"])
def test_networks_refuse(value: str, write: Callable[[str], None]) -> None:
    write(value)
    with pytest.raises(ImproperlyConfigured, match=f"{NAME} must be networks, separated by commas: .*{value}"):
        env.networks(NAME)


@pytest.mark.parametrize(
    ("value", "user", "password", "host", "port", "name", "options"),
    [
        ("postgresql://sam:p%40ss+%2F%3A@db.example:6432/median", "sam", "p@ss+/:", "db.example", "6432", "median", {}),
        ("postgres://db/median", "", "", "db", "", "median", {}),
        ("postgres://db:/median", "", "", "db", "", "median", {}),
        ("postgres://[::1]/median", "", "", "::1", "", "median", {}),
        ("postgresql://sam@[::1]:5432/median", "sam", "", "::1", "5432", "median", {}),
        ("postgresql:///median?host=/Run/pg&user=median", "median", "", "/Run/pg", "", "median", {}),
        ("postgresql://median@%2FRun%2Fpg:5433/median", "median", "", "/Run/pg", "5433", "median", {}),
        ("postgresql://?dbname=median&port=1&password=a%26b", "", "a&b", "", "1", "median", {}),
        (
            "postgresql://db/my%20db?sslmode=require&connect_timeout=5&options=-c%20search_path%3Da+b",
            "", "", "db", "", "my db",
            {"sslmode": "require", "connect_timeout": "5", "options": "-c search_path=a+b"},
        ),
    ],
)  # fmt: skip
def test_database_url(
    value: str,
    user: str,
    password: str,
    host: str,
    port: str,
    name: str,
    options: dict[str, str],
    write: Callable[[str], None],
) -> None:
    write(value)
    assert env.database_url(NAME) == {
        "ENGINE": "median_site.lib.postgres",
        "NAME": name,
        "USER": user,
        "PASSWORD": password,
        "HOST": host,
        "PORT": port,
        "OPTIONS": options,
    }


@pytest.mark.parametrize(
    "value",
    [
        "mysql://sam:hunter2@db/median",
        "postgresql://sam:hunter2@db",
        "postgresql://sam:hunter2@db/",
        "postgresql://sam:hunter2/x@db/median",
        "postgresql://sam:hunter2#x@db/median",
        "postgresql://sam:hunter2@db:hunter2/median",
        "postgresql://db/median?hunter2",
        "postgresql://db/median#hunter2",
    ],
)
def test_database_url_refuses_without_showing_it(value: str, write: Callable[[str], None]) -> None:
    write(value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        env.database_url(NAME)
    assert str(refusal.value) == (
        f"{NAME} must be a URL like postgresql://user:password@host:5432/name, special characters percent-encoded."
    )
    assert refusal.value.__suppress_context__
