"""A container without an SDK, for as many transfers as possible: what client.py calls of azure-cosmos,
by plain requests."""

import http.client
import sys
import threading
from pathlib import Path
from urllib.parse import urlparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from azure.core.exceptions import ServiceRequestError  # noqa: E402
from azure.cosmos import exceptions  # noqa: E402

from bank import PATH  # noqa: E402
from http_client import Client, pk  # noqa: E402

ATOMIC = {"x-ms-cosmos-is-batch-request": "True", "x-ms-cosmos-batch-atomic": "True"}


class Raw:
    """Stands for a container and for its scripts."""

    def __init__(self, endpoint):
        self.port, self.scripts, self._mine = urlparse(endpoint).port, self, threading.local()

    def post(self, path, body, headers):
        if not hasattr(self._mine, "client"):
            self._mine.client = Client(self.port)
        try:
            answer = self._mine.client.post(f"{PATH}/{path}", body, headers)
        except (OSError, http.client.HTTPException) as error:
            self._mine.client.close()
            raise ServiceRequestError(repr(error)) from error
        if answer.status >= 400:
            error = exceptions.CosmosHttpResponseError(status_code=answer.status, message=answer.message)
            error.sub_status = answer.substatus
            raise error
        return answer

    def execute_stored_procedure(self, name, partition_key, params):
        return self.post(f"sprocs/{name}", params, pk(partition_key)).json

    def execute_item_batch(self, operations, partition_key):
        results = self.post("docs", [written(*each) for each in operations], ATOMIC | pk(partition_key)).json
        for at, result in enumerate(results):
            if result["statusCode"] >= 400 and result["statusCode"] != 424:
                raise exceptions.CosmosBatchOperationError(
                    error_index=at, headers={}, status_code=result["statusCode"],
                    message=str(result), operation_responses=results,
                )  # fmt: skip
        return results


def written(kind, arguments, options=None):
    """One operation of a batch as it is sent."""
    options = options or {}
    if kind == "read":
        return {"operationType": "Read", "id": arguments[0]}
    if kind == "create":
        return {"operationType": "Create", "resourceBody": arguments[0]}
    id, body = arguments
    if kind == "replace":
        return {"operationType": "Replace", "id": id, "resourceBody": body, "ifMatch": options["if_match_etag"]}
    patch = {"operations": body}
    if "filter_predicate" in options:
        patch["condition"] = options["filter_predicate"]
    return {"operationType": "Patch", "id": id, "resourceBody": patch}
