// A worker and a client of the Go SDK in one process: it plays the scenes that its command line
// names, and says how each one went, one line of JSON each.
//
//	scenes ADDRESS hello signals ...    plays scenes, with a worker of its own
//	scenes ADDRESS worker               works until it is killed
//	scenes ADDRESS begin                starts what a killed worker leaves behind
//	scenes ADDRESS finish               waits for what another worker has made of it
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

const queue = "go"

// quiet: failures that a scene wants are not worth a page of text each.
var quiet = log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))

type scene func(context.Context, client.Client) error

var scenes = map[string]scene{
	"hello": hello, "signals": signals, "queries": queries, "updates": updates,
	"children": children, "pushed": pushed, "terminated": terminated, "heartbeats": heartbeats,
	"by_workflow": byWorkflow, "timers": timers, "continues": continues, "local": local,
	"retries": retries, "signal_with_start": signalWithStart, "routines": routines,
	"markers": markers, "session": session, "cleans_up": cleansUp, "evicted": evicted,
	"outside": outside, "closing": closing, "not_ready": notReady, "timeouts": timeouts,
	"elsewhere": elsewhere, "shown": shown, "begin": begin, "finish": finish, "replay": replay,
}

func main() {
	address, names := os.Args[1], os.Args[2:]
	if err := play(address, names); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(address string, names []string) error {
	options := client.Options{HostPort: address, Logger: quiet}
	if err := secured(&options); err != nil {
		return err
	}
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	if names[0] != "begin" && names[0] != "finish" {
		if names[0] == "evicted" {
			// The cache belongs to the process: no other scene has one that is as small.
			worker.SetStickyWorkflowCacheSize(1)
		}
		w := newWorker(c, queue)
		if err := w.Start(); err != nil {
			return err
		}
		defer w.Stop()
	}
	if names[0] == "worker" {
		fmt.Println("working")
		select {}
	}
	for _, name := range names {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		err := scenes[name](ctx, c)
		cancel()
		tell(name, err)
	}
	return nil
}

// secured: the environment may say whom to trust, and how to show who this is.
func secured(options *client.Options) error {
	root := os.Getenv("SCENES_ROOT")
	if root == "" {
		return nil
	}
	pem, err := os.ReadFile(root)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	if certificate := os.Getenv("SCENES_CERT"); certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, os.Getenv("SCENES_KEY"))
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	options.ConnectionOptions.TLS = config
	if key := os.Getenv("SCENES_API_KEY"); key != "" {
		options.Credentials = client.NewAPIKeyStaticCredentials(key)
	}
	return nil
}

func newWorker(c client.Client, queue string) worker.Worker {
	w := worker.New(c, queue, worker.Options{EnableSessionWorker: true})
	for _, flow := range flows {
		w.RegisterWorkflow(flow)
	}
	for _, activity := range activities {
		w.RegisterActivity(activity)
	}
	return w
}

// tell says how a scene went.
func tell(name string, err error) {
	line := map[string]any{"scene": name, "passed": err == nil}
	if err != nil {
		line["error"] = err.Error()
	}
	say(line)
}

func latency(what string, since, until time.Time) {
	say(map[string]any{"latency_of": what, "ms": float64(until.Sub(since).Microseconds()) / 1000})
}

func say(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}
