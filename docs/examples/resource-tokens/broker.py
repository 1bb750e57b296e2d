"""The middle tier: it has the key, knows who is asking, and hands out tokens for one partition key each."""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from azure.cosmos import CosmosClient, PartitionKey

LINK = "dbs/app/colls/notes"


class Broker:
    def __init__(self, endpoint, key):
        client = CosmosClient(endpoint, key)
        self.database = client.create_database_if_not_exists("app")
        self.database.create_container_if_not_exists("notes", PartitionKey("/owner"))

    def token(self, person, seconds=3600):
        """A new token for the notes of a person. Upserting the same rights leaves tokens of other devices alone."""
        user = self.database.upsert_user({"id": person})
        rights = {
            "id": "notes",
            "permissionMode": "All",
            "resource": LINK,
            "resourcePartitionKey": [person],
        }
        options = {"resourceTokenExpirySeconds": seconds}
        permission = user.upsert_permission(rights, request_options=options)
        return {"owner": person, "resource": LINK, "token": permission.properties["_token"]}

    def lock_out(self, person):
        """Every token of this person ends now."""
        self.database.delete_user(person)


def serve(broker, sessions, port=0):
    """A web service with one page. `sessions` stands for however people log in to your app."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            person = sessions.get(self.headers.get("authorization", "").removeprefix("Bearer "))
            status, answer = (200, broker.token(person)) if person else (401, {})
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Page)


if __name__ == "__main__":
    made = Broker(os.environ["SHEAF_ENDPOINT"], os.environ["SHEAF_KEY"])
    # Who presents the first word is the second one: `broker.py secret=ann other=bob`.
    serve(made, dict(pair.split("=", 1) for pair in sys.argv[1:]), port=8082).serve_forever()
