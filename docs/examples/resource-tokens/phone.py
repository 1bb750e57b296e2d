"""The app: it has no key. It asks the broker for a token, speaks to the database itself, and sees its own notes."""

import json
import urllib.request

from azure.cosmos import CosmosClient, exceptions


class Notes:
    def __init__(self, endpoint, broker, session):
        self.endpoint, self.broker, self.session = endpoint, broker, session
        self.connect()

    def connect(self):
        headers = {"authorization": f"Bearer {self.session}"}
        with urllib.request.urlopen(urllib.request.Request(self.broker, headers=headers)) as answer:
            given = json.load(answer)
        self.owner = given["owner"]
        client = CosmosClient(self.endpoint, {given["resource"]: given["token"]})
        self.container = client.get_database_client("app").get_container_client("notes")

    def attempt(self, call):
        """Calls; once more with a new token if the old one has expired (403) or is no longer good (401)."""
        try:
            return call()
        except exceptions.CosmosHttpResponseError as error:
            if error.status_code not in (401, 403):
                raise
            self.connect()
            return call()

    def write(self, name, text):
        note = {"id": name, "owner": self.owner, "text": text}
        return self.attempt(lambda: self.container.upsert_item(note))

    def read(self, name, owner=None):
        return self.attempt(lambda: self.container.read_item(name, owner or self.owner))["text"]

    def find(self, word):
        query = "SELECT VALUE n.id FROM n WHERE CONTAINS(n.text, @word) ORDER BY n.id"
        parameters = [{"name": "@word", "value": word}]
        return self.attempt(
            lambda: list(self.container.query_items(query, parameters, partition_key=self.owner))
        )
