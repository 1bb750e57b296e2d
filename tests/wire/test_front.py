"""What the first hour shows: the greeting, the page for browsers, the certificate, and IPv6."""

import socket
import ssl
import subprocess

import pytest

from http_client import Client
from server import PUBLISHED_KEY, Server, binary, environment

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def test_a_browser_gets_a_page(fresh):
    answer = fresh.send("GET", "/", headers={"accept": BROWSER})
    page = answer.body.decode()
    assert answer.status == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert f"http://127.0.0.1:{fresh.port}/" in page
    for place in ("/_sheaf/health", "/_explorer/emulator.pem", "docs"):
        assert place in page
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and answer.headers["x-content-type-options"] == "nosniff"
    # It needs nothing else, from nowhere.
    assert "<script" not in page and "src=" not in page and "@import" not in page
    assert PUBLISHED_KEY not in page
    head = fresh.send("HEAD", "/", headers={"accept": BROWSER})
    assert head.status == 200 and head.body == b""


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"accept": "application/json"}, {"accept": "*/*"},
        {"accept": "application/json, text/plain, */*"}, {"accept": "text/html, application/json"},
        {"accept": BROWSER, "x-ms-version": "2020-07-15"}, {"accept": BROWSER, "x-ms-date": "now"},
        {"accept": BROWSER, "authorization": "type=master&ver=1.0&sig=AAAA"},
    ],
)  # fmt: skip
def test_clients_are_told_to_sign(fresh, headers):
    answer = fresh.send("GET", "/", headers=headers)
    assert answer.status == 401 and answer.json["code"] == "Unauthorized"


def test_other_paths_have_no_page(fresh):
    assert fresh.send("GET", "/dbs", headers={"accept": BROWSER}).status == 401
    assert fresh.send("POST", "/", headers={"accept": BROWSER}).status == 401


@pytest.mark.parametrize("host", ["<script>alert(1)</script>", "a\"onload=x", "a&b", "a'b", "a b"])
def test_the_page_repeats_nothing_that_is_no_name(fresh, host):
    answer = fresh.send("GET", "/", headers={"accept": BROWSER}, host=host)
    assert answer.status == 400 and host.encode() not in answer.body


def test_the_certificate_can_be_had_where_the_emulators_have_theirs(server):
    for tls in (False, True):
        client = Client(server.port, tls=tls)
        answer = client.send("GET", "/_explorer/emulator.pem")
        assert answer.status == 200 and b"PRIVATE" not in answer.body
        client.close()
    context = ssl.create_default_context(cadata=answer.body.decode())
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as secure:
            served = ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True))
    assert served.split() == answer.body.decode().split()
    client = Client(server.port)
    assert client.send("POST", "/_explorer/emulator.pem").status == 405
    assert client.send("GET", "/_explorer/other.pem").status in (401, 404)


def test_without_tls_there_is_no_certificate():
    with Server("--tls", "off") as running:
        assert Client(running.port).send("GET", "/_explorer/emulator.pem").status == 404


def test_a_file_with_the_key_in_it_gives_the_certificate_alone(tmp_path):
    with Server(data_dir=tmp_path / "data"):
        pass
    tls = tmp_path / "data" / "tls"
    both = tmp_path / "both.pem"
    both.write_text((tls / "key.pem").read_text() + (tls / "cert.pem").read_text())
    with Server("--tls-cert", both, "--tls-key", both) as running:
        answer = Client(running.port).send("GET", "/_explorer/emulator.pem")
    assert answer.body.decode().split() == (tls / "cert.pem").read_text().split()


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_both_loopback_addresses_are_served(server):
    for address in ("127.0.0.1", "::1"):
        with socket.create_connection((address, server.port), timeout=60) as connection:
            request = f"GET /_sheaf/metrics HTTP/1.1\r\nHost: localhost:{server.port}\r\nConnection: close\r\n\r\n"
            connection.sendall(request.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_an_address_that_is_named_is_the_only_one():
    with Server("--host", "127.0.0.1") as running:
        with pytest.raises(OSError):
            socket.create_connection(("::1", running.port), timeout=60)


def said(*flags, variables=None, data_dir=None):
    """What a server prints until it is told to stop: standard output and standard error."""
    storage = ["--data-dir", str(data_dir)] if data_dir else ["--in-memory"]
    command = [str(binary()), "serve", "--port", "0", *storage, *map(str, flags)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment() | (variables or {})
    )
    ready = process.stdout.readline()
    process.terminate()
    with process.stdout as output, process.stderr as errors:
        texts = ready + output.read(), errors.read()
    assert process.wait() == 0, texts
    return texts


def test_the_greeting_can_be_pasted(tmp_path):
    out, _ = said(data_dir=tmp_path / "data")
    ready, *lines = out.splitlines()
    endpoint = ready.removeprefix("ready endpoint=")
    assert any(f"AccountEndpoint={endpoint};AccountKey={PUBLISHED_KEY};" in line for line in lines), out
    assert str((tmp_path / "data").resolve()) in out
    out, _ = said("--advertise", "https://db.example")
    assert "AccountEndpoint=https://db.example/;" in out and "in memory" in out


def test_keys_of_our_own_are_not_printed(tmp_path):
    key = "YSBrZXkgb2Ygb3VyIG93biwgb2YgMzIgYnl0ZXMgb3Igc28="
    (tmp_path / "keys").write_text(key)
    out, errors = said("--key-file", tmp_path / "keys")
    assert key not in out + errors and str(tmp_path / "keys") in out and PUBLISHED_KEY not in out
    out, errors = said(variables={"AZURE_COSMOS_EMULATOR_KEY": key})
    assert key not in out + errors and "AZURE_COSMOS_EMULATOR_KEY" in out and PUBLISHED_KEY not in out


def test_quiet_leaves_the_ready_line():
    assert len(said("--quiet")[0].splitlines()) == 1
    assert len(said(variables={"SHEAF_QUIET": "true"})[0].splitlines()) == 1


def test_variables_of_the_emulators_are_understood():
    old = {
        "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE": "false",
        "AZURE_COSMOS_EMULATOR_PARTITION_COUNT": "10",
        "AZURE_COSMOS_EMULATOR_ARGS": "/Port=1 /NoUI",
    }
    out, errors = said(variables=old)
    assert "in memory" in out and "AZURE_COSMOS_EMULATOR_PARTITION_COUNT" in errors and "/NoUI" in errors
    new = {"PORT": "1", "PROTOCOL": "https", "ENABLE_EXPLORER": "true", "GATEWAY_PUBLIC_ENDPOINT": "cosmos"}
    out, errors = said(variables=new)
    assert out.startswith("ready endpoint=http://") and "ENABLE_EXPLORER" not in errors
    out, errors = said("--emulator-variables", variables=new)
    assert out.startswith("ready endpoint=https://") and "ENABLE_EXPLORER" in errors
    assert "AccountEndpoint=https://cosmos:0/;" in out, out


def test_a_wrong_variable_is_named():
    command = [str(binary()), "serve", "--in-memory", "--port", "0"]
    wrong = {"AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE": "perhaps"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment() | wrong, check=False)
    assert done.returncode == 2 and "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE" in done.stderr
