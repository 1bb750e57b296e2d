package suite

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func TestItems(t *testing.T) {
	orders := container(t, 400)
	ada := azcosmos.NewPartitionKeyString("ada")
	item := must[azcosmos.ItemResponse](t)
	created := item(orders.CreateItem(ctx, ada, text(order{ID: "1", Customer: "ada", Total: 12.5}), nil))
	if created.RequestCharge <= 0 || created.SessionToken == nil {
		t.Errorf("charge %v, session %v", created.RequestCharge, created.SessionToken)
	}
	_, err := orders.CreateItem(ctx, ada, text(order{ID: "1", Customer: "ada"}), nil)
	if got := status(t, err); got != http.StatusConflict {
		t.Errorf("a second create: %d", got)
	}
	read := item(orders.ReadItem(ctx, ada, "1", &azcosmos.ItemOptions{SessionToken: created.SessionToken}))
	if got := parse[order](t, read.Value); got.Total != 12.5 || read.ETag != created.ETag {
		t.Errorf("read %v, %v", got, read.ETag)
	}
	replaced := item(orders.ReplaceItem(ctx, ada, "1", text(order{ID: "1", Customer: "ada", Total: 13}),
		&azcosmos.ItemOptions{IfMatchEtag: &read.ETag, EnableContentResponseOnWrite: true}))
	if got := parse[order](t, replaced.Value).Total; got != 13 {
		t.Errorf("replaced %v", got)
	}
	_, err = orders.ReplaceItem(ctx, ada, "1", text(order{ID: "1", Customer: "ada"}),
		&azcosmos.ItemOptions{IfMatchEtag: &read.ETag})
	if got := status(t, err); got != http.StatusPreconditionFailed {
		t.Errorf("an old etag: %d", got)
	}
	patch := azcosmos.PatchOperations{}
	patch.AppendIncrement("/total", 2)
	patch.AppendSet("/state", "open")
	item(orders.PatchItem(ctx, ada, "1", patch, nil))
	read = item(orders.ReadItem(ctx, ada, "1", nil))
	if got := parse[order](t, read.Value); got.Total != 15 || got.State != "open" {
		t.Errorf("patched %v", got)
	}
	item(orders.DeleteItem(ctx, ada, "1", nil))
	_, err = orders.ReadItem(ctx, ada, "1", nil)
	if got := status(t, err); got != http.StatusNotFound {
		t.Errorf("a deleted one: %d", got)
	}
}

func TestReadMany(t *testing.T) {
	orders := container(t, 25000)
	fill(t, orders)
	wanted := []azcosmos.ItemIdentity{
		{ID: "3", PartitionKey: azcosmos.NewPartitionKeyString("c3")},
		{ID: "8", PartitionKey: azcosmos.NewPartitionKeyString("c0")},
		{ID: "8", PartitionKey: azcosmos.NewPartitionKeyString("nobody")},
	}
	found := must[azcosmos.ReadManyItemsResponse](t)(orders.ReadManyItems(ctx, wanted, nil))
	if len(found.Items) != 2 {
		t.Errorf("%d items", len(found.Items))
	}
}

func TestBatch(t *testing.T) {
	orders := container(t, 400)
	ada := azcosmos.NewPartitionKeyString("ada")
	batch := orders.NewTransactionalBatch(ada)
	batch.CreateItem(text(order{ID: "1", Customer: "ada", Total: 1}), nil)
	patch := azcosmos.PatchOperations{}
	patch.AppendIncrement("/total", 4)
	batch.PatchItem("1", patch, nil)
	batch.ReadItem("1", nil)
	done := must[azcosmos.TransactionalBatchResponse](t)(orders.ExecuteTransactionalBatch(ctx, batch, nil))
	if !done.Success || parse[order](t, done.OperationResults[2].ResourceBody).Total != 5 {
		t.Errorf("%v", done.OperationResults)
	}
	batch = orders.NewTransactionalBatch(ada)
	batch.CreateItem(text(order{ID: "2", Customer: "ada"}), nil)
	batch.CreateItem(text(order{ID: "1", Customer: "ada"}), nil)
	done = must[azcosmos.TransactionalBatchResponse](t)(orders.ExecuteTransactionalBatch(ctx, batch, nil))
	codes := [2]int32{done.OperationResults[0].StatusCode, done.OperationResults[1].StatusCode}
	if done.Success || codes != [2]int32{http.StatusFailedDependency, http.StatusConflict} {
		t.Errorf("%v %v", done.Success, codes)
	}
	_, err := orders.ReadItem(ctx, ada, "2", nil)
	if got := status(t, err); got != http.StatusNotFound {
		t.Errorf("a part of a failed batch is there: %d", got)
	}
}

func TestOverTLS(t *testing.T) {
	endpoint := strings.Replace(os.Getenv("SHEAF_ENDPOINT"), "http:", "https:", 1)
	client := connect(t, endpoint, trusting(t))
	name := "go-over-tls"
	must[azcosmos.DatabaseResponse](t)(client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, nil))
	database := must[*azcosmos.DatabaseClient](t)(client.NewDatabase(name))
	must[azcosmos.DatabaseResponse](t)(database.Delete(ctx, nil))

	once := policy.RetryOptions{MaxRetries: -1}
	stranger := connect(t, endpoint, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Retry: once}})
	_, err := stranger.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, nil)
	if err == nil || !strings.Contains(err.Error(), "failed to verify certificate") {
		t.Errorf("a client that trusts nobody: %v", err)
	}
}
