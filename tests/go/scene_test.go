// Package suite uses a running Sheaf through the Go SDK.
package suite

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// The key that Microsoft publishes for its emulator.
const key = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

var ctx = context.Background()

type order struct {
	ID       string  `json:"id"`
	Customer string  `json:"customer"`
	Total    float64 `json:"total"`
	State    string  `json:"state,omitempty"`
}

func text(value any) []byte {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return bytes
}

func parse[T any](t *testing.T, bytes []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(bytes, &value); err != nil {
		t.Fatalf("%v in %s", err, bytes)
	}
	return value
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// status is what the server refused a request with.
func status(t *testing.T, err error) int {
	t.Helper()
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) {
		t.Fatalf("not refused by the server: %v", err)
	}
	return refused.StatusCode
}

func connect(t *testing.T, endpoint string, options *azcosmos.ClientOptions) *azcosmos.Client {
	t.Helper()
	credential := must[azcosmos.KeyCredential](t)(azcosmos.NewKeyCredential(key))
	return must[*azcosmos.Client](t)(azcosmos.NewClientWithKey(endpoint, credential, options))
}

// trusting trusts the certificate of the server, and no other.
func trusting(t *testing.T) *azcosmos.ClientOptions {
	pem := must[[]byte](t)(os.ReadFile(os.Getenv("SHEAF_CERTIFICATE")))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	return &azcosmos.ClientOptions{ClientOptions: policy.ClientOptions{Transport: client}}
}

// container makes an empty collection in a database of the test's own.
func container(t *testing.T, throughput int32) *azcosmos.ContainerClient {
	t.Helper()
	client := connect(t, os.Getenv("SHEAF_ENDPOINT"), nil)
	name := "go-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	must[azcosmos.DatabaseResponse](t)(client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: name}, nil))
	database := must[*azcosmos.DatabaseClient](t)(client.NewDatabase(name))
	t.Cleanup(func() {
		if _, err := database.Delete(ctx, nil); err != nil {
			t.Error(err)
		}
	})
	offer := azcosmos.NewManualThroughputProperties(throughput)
	must[azcosmos.ContainerResponse](t)(database.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     "orders",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/customer"}, Version: 2},
	}, &azcosmos.CreateContainerOptions{ThroughputProperties: &offer}))
	return must[*azcosmos.ContainerClient](t)(client.NewContainer(name, "orders"))
}

// fill writes twenty orders of four customers.
func fill(t *testing.T, orders *azcosmos.ContainerClient) {
	t.Helper()
	for n := range 20 {
		customer := fmt.Sprintf("c%d", n%4)
		item := order{ID: fmt.Sprint(n), Customer: customer, Total: float64((n * 7) % 20)}
		must[azcosmos.ItemResponse](t)(orders.CreateItem(ctx, azcosmos.NewPartitionKeyString(customer), text(item), nil))
	}
}

// rows are those of all pages of a query, and the number of pages.
func rows[T any](t *testing.T, orders *azcosmos.ContainerClient, query string, key azcosmos.PartitionKey,
	options *azcosmos.QueryOptions) ([]T, int) {
	t.Helper()
	found, pages := []T{}, 0
	for pager := orders.NewQueryItemsPager(query, key, options); pager.More(); pages++ {
		page := must[azcosmos.QueryItemsResponse](t)(pager.NextPage(ctx))
		for _, item := range page.Items {
			found = append(found, parse[T](t, item))
		}
	}
	return found, pages
}
