"""What scripts are given and answer, what they log, and how they fail."""

from urllib.parse import unquote

import pytest
from azure.cosmos import exceptions
from scripting import procedure, refused, stored, trigger

LOG = "x-ms-documentdb-script-log-results"


@pytest.fixture
def run(container, name):
    """Runs the body of a function once, on a key that only this test has."""

    def run(body, *arguments, **options):
        container.scripts.create_stored_procedure({"id": name, "body": f"function (...args) {{ {body} }}"})
        try:
            return container.scripts.execute_stored_procedure(name, name, list(arguments), **options)
        finally:
            container.scripts.delete_stored_procedure(name)

    return run


def test_a_new_source_is_in_effect_at_once(container, name):
    call = procedure(container, name, "function () { __.response.setBody(1); }")
    assert call(name) == 1
    container.scripts.replace_stored_procedure(
        name, {"id": name, "body": "function () { __.response.setBody(2); }"}
    )
    assert call(name) == 2
    container.scripts.delete_stored_procedure(name)
    refused((404, 0), call, name)


@pytest.mark.parametrize(
    "value", ["text", "", "7", 7, -0.5, True, False, None, [], ["a", {"b": None}], {"ü": "🦀"}], ids=repr
)
def test_arguments_and_results_are_json(run, value):
    assert run("__.response.setBody(args[0]);", value) == value
    assert run("__.response.setBody(args);", value, value) == [value, value]


def test_no_result(container, run, name):
    assert not run("")
    assert not run("__.response.setBody(undefined);")
    assert not run("return 7;")
    assert run("__.response.setBody(args.length);") == 0
    call = container.scripts.execute_stored_procedure
    container.scripts.create_stored_procedure({"id": name, "body": "(...a) => __.response.setBody(a.length)"})
    assert call(name, name) == call(name, name, None) == 0


def test_answers_have_charge_and_session(container, name):
    call = procedure(container, "createDocument")
    call(name, {"id": "one", "pk": name})
    headers = container.client_connection.last_response_headers
    # 4.6 for the script itself, and what its one creation costs.
    plain = container.create_item({"id": "two", "pk": name}).get_response_headers()
    charge = float(headers["x-ms-request-charge"]) - float(plain["x-ms-request-charge"])
    assert round(charge, 2) == 4.6
    assert headers["x-ms-session-token"] and LOG not in headers


@pytest.fixture(scope="module")
def talk(container):
    return procedure(container, "talk")


class TestLog:
    def test_when_asked_for(self, container, talk, name):
        talk(name, "Zoë", enable_script_logging=True)
        log = container.client_connection.last_response_headers[LOG]
        assert unquote(log) == 'Hello Zoë, you are number 7.\n{"größe":[1,2]}'
        for options in [{}, {"enable_script_logging": False}]:
            talk(name, "Zoë", **options)
            assert LOG not in container.client_connection.last_response_headers

    def test_of_a_failure(self, talk, name):
        failure = refused((400, 418), talk, name, "Zoë", True, enable_script_logging=True)
        assert unquote(failure.headers[LOG]).startswith("Hello Zoë")


class TestErrors:
    def test_a_throw(self, container, run, name):
        write = "__.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });"
        failure = refused((400, 0), run, f"{write} throw new Error('no gold');", name)
        assert "Encountered exception while executing Javascript. Exception = Error: no gold" in failure.message
        assert "Stack trace: Error: no gold" in failure.message and failure.headers["x-ms-activity-id"]
        for number in [404, 409, 449, 4711]:
            refused((400, number), run, f"{write} throw new Error({number}, 'no gold');", name)
        for thrown in ["'text'", "{ number: 1, why: 2 }", "null", "undefined", "7"]:
            refused((400, 1 if "number" in thrown else 0), run, f"{write} throw {thrown};", name)
        refused((400, 403), run, f"{write} getContext().abort(new Error(403, 'no'));", name)
        assert stored(container, name) == []

    def test_an_error_without_a_callback_ends_the_script(self, container, run, name):
        body = """
            __.createDocument(__.getSelfLink(), { id: 'a', pk: args[0] });
            try { __.createDocument(__.getSelfLink(), { id: 'a', pk: args[0] }); } catch (e) { }
        """
        refused((400, 409), run, body, name)
        assert stored(container, name) == []
        answered = """
            __.readDocument(__.getAltLink() + '/docs/absent', (error, found, options) => {
              __.response.setBody([error.number, found === undefined, error.body.length > 0]);
            });
        """
        assert run(answered, name) == [404, True, True]

    def test_another_key(self, container, run, name):
        write = "__.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });"
        refused((400, 400), run, write, f"{name}, another key")
        refused((400, 400), run, "__.createDocument(__.getSelfLink(), { id: 'x' });")
        container.create_item({"id": "there", "pk": f"{name}, another key"})
        read = "__.readDocument(__.getAltLink() + '/docs/there', (e) => __.response.setBody(e.number));"
        assert run(read) == 404
        find = "__.queryDocuments(__.getSelfLink(), 'SELECT * FROM c', (e, found) => __.response.setBody(found));"
        assert run(find) == []

    def test_who_cannot_be_called(self, container, name):
        call = container.scripts.execute_stored_procedure
        refused((404, 0), call, "unknown", name)
        procedure(container, "helloWorld")
        refused((400, 0), call, "helloWorld")
        trigger(container, "only a trigger", "Pre", "All", "function () { }")
        refused((404, 0), call, "only a trigger", name)

    def test_time_runs_out(self, container, run, name):
        write = "__.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });"
        failure = refused((408, 0), run, f"{write} try {{ for (;;); }} catch (e) {{ }}", name)
        assert "execution time" in failure.message
        assert stored(container, name) == []
        container.create_item({"id": "x", "pk": name})

    def test_memory_and_stack_run_out(self, container, run, name):
        write = "__.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });"
        bomb = "const all = []; for (;;) all.push('x'.repeat(1000) + all.length);"
        assert "memory" in refused((403, 0), run, f"{write} {bomb}", name).message
        refused((400, 0), run, f"{write} (function deep() {{ deep(); }})();", name)
        with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
            run(f"{write} __.response.setBody('x'.repeat(5000000));", name)
        assert caught.value.status_code in (400, 413)
        assert stored(container, name) == []

    def test_a_rejected_promise_is_swallowed(self, container, run, name):
        body = """
            __.createDocument(__.getSelfLink(), { id: 'x', pk: args[0] });
            (async () => { throw new Error('nobody hears this'); })();
        """
        assert not run(body, name)
        assert [item["id"] for item in stored(container, name)] == ["x"]
