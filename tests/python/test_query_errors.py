"""What callers see of queries that are refused."""

import json

import pytest
from azure.cosmos import exceptions
from shop import KEYS

SCOPES = [{"partition_key": KEYS[0]}, {"enable_cross_partition_query": True}]


def refused(container, query, **more):
    with pytest.raises(exceptions.CosmosHttpResponseError) as caught:
        list(container.query_items(query, **more))
    assert caught.value.status_code == 400
    return caught.value


@pytest.mark.parametrize("scope", SCOPES, ids=["key", "all"])
@pytest.mark.parametrize(
    "query, code, message, start, end",
    [
        ("SELECT * FROM c WHERE", "SC1002", "Syntax error, unexpected end-of-file.", 21, 21),
        ("SELEC * FROM c", "SC1001", "Syntax error, incorrect syntax near 'SELEC'.", 0, 5),
        ("SELECT * FROM c ORDER c.n", "SC1001", "Syntax error, incorrect syntax near 'c'.", 22, 23),
        ("SELECT n FROM c", "SC2001", "Identifier 'n' could not be resolved.", 7, 8),
        ("SELECT NOPE(c.n) FROM c", "SC2005", "'NOPE' is not a recognized built-in function name.", 7, 11),
        ("SELECT ABS(c.n, 1) FROM c", "SC2050", "The ABS function requires 1 argument(s).", 7, 18),
        ("SELECT * FROM c GROUP BY c.n", "SC2041", "'SELECT *' is not allowed with GROUP BY.", 7, 8),
    ],
)
def test_what_and_where(shop, scope, query, code, message, start, end):
    text = refused(shop, query, **scope).message
    document, _ = json.JSONDecoder().raw_decode(text[text.index('{"errors"') :])
    assert document == {
        "errors": [{"severity": "Error", "location": {"start": start, "end": end}, "code": code, "message": message}]
    }


def test_functions_of_users_are_not_there(shop):
    assert "f" in refused(shop, "SELECT udf.f(c.n) FROM c", partition_key=KEYS[0]).message


def test_no_container(database):
    gone = database.get_container_client("none")
    for scope in SCOPES:
        with pytest.raises(exceptions.CosmosResourceNotFoundError):
            list(gone.query_items("SELECT * FROM c", **scope))


def test_errors_carry_what_support_asks_for(shop):
    error = refused(shop, "SELEC", enable_cross_partition_query=True)
    assert error.headers["x-ms-activity-id"]
    assert float(error.headers["x-ms-request-charge"]) >= 0


def test_after_an_error_all_is_well(shop):
    """One client, refused and answered in turn."""
    for _ in range(5):
        refused(shop, "SELEC", enable_cross_partition_query=True)
        assert list(shop.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True)) == [60]
