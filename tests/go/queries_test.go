package suite

import (
	"reflect"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// The SDK cannot merge, so it sends queries over all partitions as they are, and the server merges.
func TestQueriesOverPartitions(t *testing.T) {
	for name, throughput := range map[string]int32{"one": 400, "three": 25000} {
		t.Run(name, func(t *testing.T) {
			orders := container(t, throughput)
			fill(t, orders)
			all := azcosmos.NewPartitionKey()
			sorted, pages := rows[float64](t, orders, "SELECT VALUE c.total FROM c ORDER BY c.total DESC", all,
				&azcosmos.QueryOptions{PageSizeHint: 6})
			if len(sorted) != 20 || sorted[0] != 19 || sorted[19] != 0 || pages < 4 {
				t.Errorf("%v in %d pages", sorted, pages)
			}
			for at := 1; at < len(sorted); at++ {
				if sorted[at] > sorted[at-1] {
					t.Errorf("%v comes behind %v", sorted[at], sorted[at-1])
				}
			}
			sums, _ := rows[float64](t, orders, "SELECT VALUE SUM(c.total) FROM c", all, nil)
			if !reflect.DeepEqual(sums, []float64{190}) {
				t.Errorf("sum %v", sums)
			}
			type group struct {
				Customer string `json:"customer"`
				Count    int    `json:"count"`
			}
			groups, _ := rows[group](t, orders, "SELECT c.customer, COUNT(1) AS count FROM c GROUP BY c.customer", all, nil)
			if len(groups) != 4 || groups[0].Count != 5 {
				t.Errorf("groups %v", groups)
			}
			top, _ := rows[string](t, orders, "SELECT DISTINCT TOP 2 VALUE c.customer FROM c ORDER BY c.customer", all, nil)
			if !reflect.DeepEqual(top, []string{"c0", "c1"}) {
				t.Errorf("top %v", top)
			}
		})
	}
}

func TestQueriesOfOneKey(t *testing.T) {
	orders := container(t, 25000)
	fill(t, orders)
	found, pages := rows[order](t, orders, "SELECT * FROM c WHERE c.total >= @least ORDER BY c.total",
		azcosmos.NewPartitionKeyString("c1"), &azcosmos.QueryOptions{
			PageSizeHint:    2,
			QueryParameters: []azcosmos.QueryParameter{{Name: "@least", Value: 3}},
		})
	totals := []float64{}
	for _, one := range found {
		totals = append(totals, one.Total)
		if one.Customer != "c1" {
			t.Errorf("an order of %s", one.Customer)
		}
	}
	if !reflect.DeepEqual(totals, []float64{3, 7, 11, 15, 19}) || pages < 3 {
		t.Errorf("%v in %d pages", totals, pages)
	}
}

// A page can be asked for later, with nothing but its token.
func TestPagesByToken(t *testing.T) {
	orders := container(t, 25000)
	fill(t, orders)
	seen := map[string]bool{}
	var token *string
	for first := true; first || token != nil; first = false {
		pager := orders.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(),
			&azcosmos.QueryOptions{PageSizeHint: 3, ContinuationToken: token})
		page := must[azcosmos.QueryItemsResponse](t)(pager.NextPage(ctx))
		for _, item := range page.Items {
			id := parse[order](t, item).ID
			if seen[id] {
				t.Errorf("%s came twice", id)
			}
			seen[id] = true
		}
		token = page.ContinuationToken
	}
	if len(seen) != 20 {
		t.Errorf("%d orders", len(seen))
	}
}

func TestChangeFeed(t *testing.T) {
	orders := container(t, 25000)
	fill(t, orders)
	ranges := must[[]azcosmos.FeedRange](t)(orders.ReadFeedRanges(ctx, nil))
	seen := 0
	for _, one := range ranges {
		page := must[azcosmos.ChangeFeedResponse](t)(orders.ReadChangeFeed(ctx, &azcosmos.ChangeFeedOptions{FeedRange: &one}))
		seen += len(page.Items)
	}
	if len(ranges) != 3 || seen != 20 {
		t.Errorf("%d changes in %d ranges", seen, len(ranges))
	}
}
