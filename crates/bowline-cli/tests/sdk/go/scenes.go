package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func start(ctx context.Context, c client.Client, id string, flow any, args ...any) (
	client.WorkflowRun, error,
) {
	options := client.StartWorkflowOptions{ID: id, TaskQueue: queue}
	return c.ExecuteWorkflow(ctx, options, flow, args...)
}

// gives starts a workflow and compares its result.
func gives(ctx context.Context, c client.Client, want any, id string, flow any, args ...any) error {
	run, err := start(ctx, c, id, flow, args...)
	if err != nil {
		return err
	}
	return ends(ctx, run, want)
}

func ends(ctx context.Context, run client.WorkflowRun, want any) error {
	found := reflect.New(reflect.TypeOf(want))
	if err := run.Get(ctx, found.Interface()); err != nil {
		return err
	}
	return expect(want, found.Elem().Interface())
}

func expect(want, found any) error {
	if !reflect.DeepEqual(want, found) {
		return fmt.Errorf("expected %v, found %v", want, found)
	}
	return nil
}

// until waits for what an activity of this process has to see.
func until(ctx context.Context, key string) (time.Time, error) {
	for ctx.Err() == nil {
		if at, found := seen.Load(key); found {
			return at.(time.Time), nil
		}
		time.Sleep(time.Millisecond)
	}
	return time.Time{}, fmt.Errorf("never seen: %s", key)
}

func hello(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "Hello, Gopher!", "hello", Hello, "Gopher")
}

func lines(ctx context.Context, c client.Client, id string) ([]string, error) {
	answer, err := c.QueryWorkflow(ctx, id, "", "log")
	if err != nil {
		return nil, err
	}
	var lines []string
	return lines, answer.Get(&lines)
}

func shows(ctx context.Context, c client.Client, id string, want ...string) error {
	found, err := lines(ctx, c, id)
	if err != nil {
		return err
	}
	return expect(want, found)
}

// signals arrive in order, and a closed run refuses them.
func signals(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "signals", Chat)
	if err != nil {
		return err
	}
	want := []string{}
	for number := range 20 {
		line := fmt.Sprint("line ", number)
		want = append(want, line)
		if err := c.SignalWorkflow(ctx, "signals", "", "say", line); err != nil {
			return err
		}
	}
	if err := c.SignalWorkflow(ctx, "signals", "", "end", nil); err != nil {
		return err
	}
	if err := ends(ctx, run, want); err != nil {
		return err
	}
	var gone *serviceerror.NotFound
	if err := c.SignalWorkflow(ctx, "signals", "", "say", "late"); !errors.As(err, &gone) {
		return fmt.Errorf("a closed run should refuse a signal: %w", err)
	}
	return nil
}

// queries are answered by runs that wait, and by closed ones.
func queries(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "queries", Chat)
	if err != nil {
		return err
	}
	if err := c.SignalWorkflow(ctx, "queries", "", "say", "one"); err != nil {
		return err
	}
	for range 5 {
		if err := shows(ctx, c, "queries", "one"); err != nil {
			return err
		}
	}
	var failed *serviceerror.QueryFailed
	if _, err := c.QueryWorkflow(ctx, "queries", "", "nothing"); !errors.As(err, &failed) {
		return fmt.Errorf("an unknown query should fail as one: %w", err)
	}
	if err := c.SignalWorkflow(ctx, "queries", "", "end", nil); err != nil {
		return err
	}
	if err := ends(ctx, run, []string{"one"}); err != nil {
		return err
	}
	return shows(ctx, c, "queries", "one")
}

func updates(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "updates", Chat)
	if err != nil {
		return err
	}
	update := func(line string) (count int, err error) {
		handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: "updates", UpdateName: "add", Args: []any{line},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err != nil {
			return 0, err
		}
		return count, handle.Get(ctx, &count)
	}
	for number, line := range []string{"one", "two"} {
		if _, err := update("no"); err == nil || !strings.Contains(err.Error(), "refused") {
			return fmt.Errorf("the update should be refused: %w", err)
		}
		count, err := update(line)
		if err != nil {
			return err
		}
		if err := expect(number+1, count); err != nil {
			return err
		}
	}
	if err := c.SignalWorkflow(ctx, "updates", "", "end", nil); err != nil {
		return err
	}
	return ends(ctx, run, []string{"one", "two"})
}

func children(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "my child says: Hello, papa!", "parent", Parent)
}

func timers(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "early", "timers", Timers)
}

func continues(ctx context.Context, c client.Client) error {
	return gives(ctx, c, 3, "continues", Continues, 3, 0)
}

func local(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "Hello, neighbour!", "local", Local)
}

func retries(ctx context.Context, c client.Client) error {
	return gives(ctx, c, int32(3), "retries", Retries)
}

func routines(ctx context.Context, c client.Client) error {
	return gives(ctx, c, 3, "routines", Routines)
}

func markers(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "4 4 4", "markers", Markers)
}

func session(ctx context.Context, c client.Client) error {
	return gives(ctx, c, "Hello, you! Hello, there!", "session", Session)
}

func signalWithStart(ctx context.Context, c client.Client) error {
	options := client.StartWorkflowOptions{ID: "both", TaskQueue: queue}
	var run client.WorkflowRun
	for _, line := range []string{"first", "second"} {
		var err error
		run, err = c.SignalWithStartWorkflow(ctx, "both", "say", line, options, Chat)
		if err != nil {
			return err
		}
	}
	if err := c.SignalWorkflow(ctx, "both", "", "end", nil); err != nil {
		return err
	}
	return ends(ctx, run, []string{"first", "second"})
}

// evicted: three runs share a cache with room for one, so each of them is replayed again and again.
func evicted(ctx context.Context, c client.Client) error {
	names := []string{"evicted 0", "evicted 1", "evicted 2"}
	for _, name := range names {
		if _, err := start(ctx, c, name, Chat); err != nil {
			return err
		}
	}
	want := []string{}
	for round := range 3 {
		want = append(want, fmt.Sprint("round ", round))
		for _, name := range names {
			if err := c.SignalWorkflow(ctx, name, "", "say", want[round]); err != nil {
				return err
			}
			if err := shows(ctx, c, name, want...); err != nil {
				return err
			}
		}
	}
	for _, name := range names {
		if err := c.SignalWorkflow(ctx, name, "", "end", nil); err != nil {
			return err
		}
		if err := ends(ctx, c.GetWorkflow(ctx, name, ""), want); err != nil {
			return err
		}
	}
	return nil
}

// replay lets the SDK's own replayer read every history.
func replay(ctx context.Context, c client.Client) error {
	replayer := worker.NewWorkflowReplayer()
	for _, flow := range flows {
		replayer.RegisterWorkflow(flow)
	}
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
	if err != nil {
		return err
	}
	for _, run := range listed.Executions {
		id, runID := run.Execution.WorkflowId, run.Execution.RunId
		history, err := historyOf(ctx, c, id, runID)
		if err != nil {
			return err
		}
		// Without its id, a run would give other ids to its children than it did.
		options := worker.ReplayWorkflowHistoryOptions{
			OriginalExecution: workflow.Execution{ID: id, RunID: runID},
		}
		if err := replayer.ReplayWorkflowHistoryWithOptions(quiet, history, options); err != nil {
			return fmt.Errorf("replay of %s: %w", id, err)
		}
	}
	say(map[string]any{"replayed": len(listed.Executions)})
	return nil
}
