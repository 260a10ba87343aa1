"""The egress policy as tables: spellings of hosts, address ranges, rules, URLs."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from webgym.errors import BadRequest, Forbidden
from webgym.server.egress.destinations import EgressPolicy, Rules, canonical_host, zone

# Hosts and addresses


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.COM.", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("straße.example", "xn--strae-oqa.example"),
        ("a_b.example", "a_b.example"),
        ("2130706433", IPv4Address("127.0.0.1")),
        ("0177.0.0.1", IPv4Address("127.0.0.1")),
        ("0x7f.1", IPv4Address("127.0.0.1")),
        ("127.1", IPv4Address("127.0.0.1")),
        ("0x7F000001", IPv4Address("127.0.0.1")),
        ("127.0.0.1.", IPv4Address("127.0.0.1")),
        ("１２７。０。０。１", IPv4Address("127.0.0.1")),
        ("0", IPv4Address("0.0.0.0")),
        ("0x", IPv4Address("0.0.0.0")),
        ("[::1]", IPv6Address("::1")),
        ("::FFFF:127.0.0.1", IPv4Address("127.0.0.1")),
        ("[::ffff:7f00:1]", IPv4Address("127.0.0.1")),
    ],
)
def test_a_host_has_one_spelling(text, host):
    assert canonical_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a..b",
        "a b",
        "a/b",
        "256.0.0.1",
        "1.2.3.4.5",
        "08.0.0.1",
        "4294967296",
        "a.1",
        "fe80::1%eth0",
        "[::1",
        "::1]",
        "x" * 64 + ".example",
        "a." * 130 + "example",
        "a\\xff",
        "9" * 5000,
    ],
)
def test_what_is_not_a_host_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        canonical_host(text)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("10.0.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.0.1", "private"),
        ("169.254.169.254", "link-local"),
        ("100.100.100.200", "a cloud platform's address"),
        ("100.100.100.201", "carrier-grade NAT"),
        ("168.63.129.16", "a cloud platform's address"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("192.0.2.1", "for documentation"),
        ("198.19.0.1", "for benchmarks"),
        ("224.0.0.251", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("250.1.1.1", "reserved"),
        ("::1", "loopback"),
        ("::", "unspecified"),
        ("fe80::1", "link-local"),
        ("fd00:ec2::254", "a cloud platform's address"),
        ("fd20:ce::254", "a cloud platform's address"),
        ("fd20:ce::255", "private"),
        ("ff02::fb", "multicast"),
        ("2001:db8::1", "for documentation"),
        ("::127.0.0.1", "reserved"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:0:10.0.0.1", "reserved"),
        ("64:ff9b::169.254.169.254", "link-local"),
        ("64:ff9b:1::1", "a tunnel"),
        ("2002:7f00:1::1", "a tunnel"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "a tunnel"),
        ("4000::1", "reserved"),
        ("5f00::1", "reserved"),
        ("1.1.1.1", None),
        ("172.32.0.1", None),
        ("100.128.0.1", None),
        ("2606:4700::1111", None),
        ("64:ff9b::1.1.1.1", None),
        ("::ffff:1.1.1.1", None),
    ],
)
def test_every_special_range_has_its_name(address, expected):
    assert zone(ip_address(address)) == expected


def _spellings(value: int) -> list[str]:
    a, b, c, d = value.to_bytes(4)
    rest, half = value & 0xFFFFFF, value & 0xFFFF
    return [
        f"{a}.{b}.{c}.{d}",
        f"{a}.{b}.{c}.{d}.",
        str(value),
        hex(value),
        f"0{value:o}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"0X{a:X}.{b}.0x{c:x}.0{d:o}",
        f"{a}.{rest}",
        f"{a}.{b}.{half}",
        f"[::ffff:{a}.{b}.{c}.{d}]",
        f"::ffff:{value >> 16:x}:{half:x}",
        f"64:ff9b::{value >> 16:x}:{half:x}",
        f"[2002:{value >> 16:x}:{half:x}::1]",
    ]


@given(st.integers(0, 2**32 - 1).filter(lambda value: not IPv4Address(value).is_global))
def test_no_spelling_of_a_non_global_address_passes(value):
    policy = EgressPolicy()
    for text in _spellings(value):
        assert policy.refuses(canonical_host(text), 80), text


@given(st.integers(0, 2**128 - 1).filter(lambda value: not IPv6Address(value).is_global))
def test_no_non_global_ipv6_address_passes(value):
    assert EgressPolicy().refuses(canonical_host(str(IPv6Address(value))), 80)


# The policy


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "a b",
        "10.0.0.1/8",
        "host:0",
        "host:65536",
        "host:http",
        "*.10.0.0.1",
        "a.*.b",
        "http://a.example",
        "[::1",
    ],
)
def test_a_bad_rule_is_named(rule):
    with pytest.raises(ValidationError, match="deny: rule") as e:
        EgressPolicy(deny=("good.example", rule))
    assert repr(rule) in str(e.value)


def test_a_rule_that_would_open_everything_is_refused():
    for rule in ("*", "*:80"):
        with pytest.raises(ValidationError, match="would open every private address"):
            EgressPolicy(allow=(rule,))
    with pytest.raises(ValidationError, match="only_allowed is False"):
        EgressPolicy(sites=("shop.example",))
    with pytest.raises(ValidationError, match="extra"):
        EgressPolicy.model_validate({"alow": []})


@pytest.mark.parametrize(
    ("rule", "name", "port", "hit"),
    [
        ("example.com", "example.com", 80, True),
        ("EXAMPLE.com.", "example.com", 80, True),
        ("example.com", "www.example.com", 80, False),
        ("*.example.com", "www.example.com", 80, True),
        ("*.example.com", "a.b.example.com", 80, True),
        ("*.example.com", "example.com", 80, False),
        ("*.example.com", "notexample.com", 80, False),
        ("*.localhost:8123", "shop.localhost", 8123, True),
        ("*.localhost:8123", "shop.localhost", 8124, False),
        ("bücher.example", "xn--bcher-kva.example", 80, True),
        ("*:25", "mail.example", 25, True),
        ("*:25", "mail.example", 80, False),
    ],
)
def test_rules_for_names(rule, name, port, hit):
    assert Rules([rule]).has_name(name, port) is hit


@pytest.mark.parametrize(
    ("rule", "address", "port", "hit"),
    [
        ("127.0.0.1:8123", "127.0.0.1", 8123, True),
        ("127.0.0.1:8123", "127.0.0.1", 80, False),
        ("0x7f.1", "127.0.0.1", 80, True),
        ("10.0.0.0/8", "10.2.3.4", 80, True),
        ("10.0.0.0/8:443", "10.2.3.4", 80, False),
        ("::1", "::1", 80, True),
        ("[::1]:80", "::1", 80, True),
        ("[::1]:80", "::1", 81, False),
        ("fd00::/8", "fd12::1", 80, True),
        ("[fd00::/8]:443", "fd12::1", 443, True),
        ("[fd00::/8]:443", "fd12::1", 80, False),
        ("10.0.0.0/8", "fd12::1", 80, False),
    ],
)
def test_rules_for_addresses(rule, address, port, hit):
    assert Rules([rule]).has_address(ip_address(address), port) is hit


def test_localhost_is_refused_unless_a_rule_admits_it():
    assert EgressPolicy().refuses("localhost", 80) == "localhost is 127.0.0.1, which is loopback"
    assert EgressPolicy().refuses("a.localhost", 80)
    assert EgressPolicy(allow_private=True).refuses("a.localhost", 80)
    policy = EgressPolicy(allow=("*.localhost:8123",))
    assert policy.refuses("a.localhost", 8123) is None
    assert policy.refuses("a.localhost", 8124)
    assert policy.refuses(IPv4Address("127.0.0.1"), 8123), "the name is open, the address is not"
    assert EgressPolicy(allow=("127.0.0.1:80",)).refuses("localhost", 80) is None


def test_deny_wins_over_allow():
    policy = EgressPolicy(allow=("10.0.0.0/8", "a.example"), deny=("10.0.0.1", "a.example", "1.1.1.1", "*:25"))
    assert policy.refuses(IPv4Address("10.0.0.1"), 80) == "10.0.0.1 is on the deny list"
    assert policy.refuses(IPv4Address("10.0.0.2"), 80) is None
    assert policy.refuses("a.example", 80)
    assert policy.refuses_address("b.example", IPv4Address("1.1.1.1"), 80)
    assert policy.refuses_address("b.example", IPv6Address("64:ff9b::1.1.1.1"), 80)
    assert policy.refuses(IPv4Address("8.8.8.8"), 25)
    assert policy.refuses("b.example", 25)


def test_a_rule_for_a_name_opens_private_addresses_but_no_metadata_service():
    policy = EgressPolicy(allow=("intranet.example",))
    assert policy.refuses_address("intranet.example", IPv4Address("10.0.0.1"), 80) is None
    assert policy.refuses_address("intranet.example", IPv4Address("127.0.0.1"), 80) is None
    for text in (
        "169.254.169.254",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "0.0.0.0",
        "224.0.0.1",
        "2002:7f00:1::1",
    ):
        assert policy.refuses_address("intranet.example", ip_address(text), 80), text
    assert policy.refuses_address("other.example", IPv4Address("10.0.0.1"), 80)
    metadata = EgressPolicy(allow=("169.254.169.254",))
    assert metadata.refuses(IPv4Address("169.254.169.254"), 80) is None


def test_allow_private_opens_private_ranges_only():
    policy = EgressPolicy(allow_private=True)
    for text in ("10.0.0.1", "192.168.1.1", "100.64.0.1", "fd00::1"):
        assert policy.refuses(ip_address(text), 80) is None
    for text in (
        "127.0.0.1",
        "169.254.169.254",
        "100.100.100.200",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::1",
        "fe80::1",
        "0.0.0.0",
    ):
        assert policy.refuses(ip_address(text), 80), text


def test_only_allowed_refuses_the_rest_and_sites_open_no_private_address():
    policy = EgressPolicy(only_allowed=True, allow=("*.localhost:8123", "10.0.0.1"), sites=("shop.example", "1.1.1.1"))
    assert policy.refuses("other.example", 80) == "other.example:80 is not on the allow list"
    assert policy.refuses(IPv4Address("8.8.8.8"), 80) == "8.8.8.8:80 is not on the allow list"
    assert policy.refuses("a.localhost", 8123) is None
    assert policy.refuses(IPv4Address("10.0.0.1"), 80) is None
    assert policy.refuses(IPv4Address("1.1.1.1"), 80) is None
    assert policy.refuses("shop.example", 80) is None
    assert policy.refuses_address("shop.example", IPv4Address("1.2.3.4"), 80) is None
    assert policy.refuses_address("shop.example", IPv4Address("127.0.0.1"), 80)


@pytest.mark.parametrize(
    "url",
    [
        "about:blank",
        "http://a.example\\@127.0.0.1/",  # browsers end the host at the backslash
        "http://example.com",
        "https://example.com:8443/a?b=c@d#e",
        " https://EXAMPLE.com\n",
        "HTTP:\\\\a.example",
        "https://bücher.example/",
        "http://1.1.1.1/",
        "http://example.com:/",
        "https://a.example/\\@b",
    ],
)
def test_urls_that_may_be_visited(url):
    EgressPolicy().check_url(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("file:///etc/passwd", "file: is not allowed"),
        ("chrome://version", "chrome: is not allowed"),
        ("devtools://devtools", "devtools: is not allowed"),
        ("view-source:http://a.example", "view-source: is not allowed"),
        ("JavaScript:alert(1)", "javascript: is not allowed"),
        ("data:text/html,x", "data: is not allowed"),
        ("blob:http://a.example/1", "blob: is not allowed"),
        ("ftp://a.example", "ftp: is not allowed"),
        ("about:version", "about: is not allowed"),
        ("\x01file:///etc/passwd", "file: is not allowed"),
        ("http://user:pw@a.example/", "user name or password"),
        ("http://127.0.0.1/", "127.0.0.1 is loopback"),
        ("http:127.0.0.1", "127.0.0.1 is loopback"),
        ("http:////127.0.0.1", "127.0.0.1 is loopback"),
        ("http:\\\\127.1\\x", "127.0.0.1 is loopback"),
        ("http://2130706433:8080/", "127.0.0.1 is loopback"),
        ("http://%31%32%37.0.0.1/", "127.0.0.1 is loopback"),
        ("http://[::ffff:a9fe:a9fe]/latest", "169.254.169.254 is link-local"),
        ("http://localhost./", "loopback"),
        ("http://a.localhost:3000/", "loopback"),
    ],
)
def test_urls_that_are_forbidden(url, says):
    with pytest.raises(Forbidden, match=says) as e:
        EgressPolicy().check_url(url)
    assert "pw" not in e.value.message


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com",
        "http://",
        "http://a b/",
        "http://a:99999/",
        "http://a\nb/",
        "http:///?",
    ],
)
def test_what_is_no_url_is_a_bad_request(url):
    with pytest.raises(BadRequest, match="url: "):
        EgressPolicy().check_url(url)


def test_an_address_of_this_machine_is_opened_as_loopback_is():
    address, ours = IPv4Address("1.2.3.4"), (ip_network("1.2.3.4/32"),)
    assert EgressPolicy().refuses_address("a.example", address, 80) is None
    assert EgressPolicy().refuses_address("a.example", address, 80, ours)
    assert EgressPolicy(allow=("a.example",)).refuses_address("a.example", address, 80, ours) is None
    assert EgressPolicy(allow=("1.2.3.4",)).refuses_address("b.example", address, 80, ours) is None
    assert EgressPolicy(allow_private=True).refuses_address("a.example", address, 80, ours)
    assert EgressPolicy().refuses_address("a.example", IPv4Address("1.2.3.5"), 80, ours) is None


def test_opening_private_ranges_opens_the_neighbours_and_not_this_machine():
    policy = EgressPolicy(allow_private=True)
    ours = (ip_network("10.0.0.5/32"), ip_network("fd00::5/128"), ip_network("fd00::/64"))
    for own, neighbour in (
        (IPv4Address("10.0.0.5"), IPv4Address("10.0.0.6")),
        (IPv6Address("fd00::5"), IPv6Address("fd00::6")),
    ):
        assert policy.refuses_address(own, own, 8265, ours)
        assert policy.refuses_address("a.example", own, 8265, ours)
        assert policy.refuses_address(neighbour, neighbour, 8265, ours) is None
        assert EgressPolicy(allow=(f"{own}",), allow_private=True).refuses_address(own, own, 8265, ours) is None


def test_private_ranges_are_no_way_around_the_list_of_sites():
    policy = EgressPolicy(allow_private=True, only_allowed=True, sites=("shop.example", "10.0.0.7"))
    shop, listed, other = IPv4Address("10.0.0.5"), IPv4Address("10.0.0.7"), IPv4Address("10.0.0.6")
    assert policy.refuses_address("shop.example", shop, 80) is None
    assert policy.refuses_address(listed, listed, 80) is None
    assert policy.refuses_address(other, other, 80) == "10.0.0.6:80 is not on the allow list"


@pytest.mark.parametrize("name", ["the-.tumblr.com", "-a.example", "xn--a-.example"])
def test_a_hyphen_may_stand_anywhere_in_a_name_as_it_may_for_browsers(name):
    assert canonical_host(name) == name
