// The official command line for Temporal, without the server that it has inside.
package main

import (
	"context"

	"github.com/temporalio/cli/temporalcli"
)

func main() {
	temporalcli.Execute(context.Background(), temporalcli.CommandOptions{})
}
