package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

func historyOf(ctx context.Context, c client.Client, id, runID string) (*history.History, error) {
	all := &history.History{}
	filter := enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT
	for events := c.GetWorkflowHistory(ctx, id, runID, false, filter); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		all.Events = append(all.Events, event)
	}
	return all, nil
}

func has(ctx context.Context, c client.Client, id string, kind enums.EventType) (bool, error) {
	all, err := historyOf(ctx, c, id, "")
	if err != nil {
		return false, err
	}
	is := func(event *history.HistoryEvent) bool { return event.EventType == kind }
	return slices.ContainsFunc(all.Events, is), nil
}

// stopped measures how long an activity waits for the word, once the request was answered.
func stopped(ctx context.Context, name string, stop func() error) error {
	if _, err := until(ctx, "started "+name); err != nil {
		return err
	}
	if err := stop(); err != nil {
		return err
	}
	asked := time.Now()
	told, err := until(ctx, "cancelled "+name)
	if err != nil {
		return err
	}
	latency(name, asked, told)
	return nil
}

// pushed: an activity that never heartbeats is told at once, with the settings that all have.
func pushed(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "pushed", Cancels, "pushed")
	if err != nil {
		return err
	}
	stop := func() error { return c.CancelWorkflow(ctx, "pushed", "") }
	if err := stopped(ctx, "pushed", stop); err != nil {
		return err
	}
	return ends(ctx, run, "cancelled")
}

// terminated: the same, where no workflow code runs any more.
func terminated(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "terminated", Cancels, "terminated")
	if err != nil {
		return err
	}
	stop := func() error { return c.TerminateWorkflow(ctx, "terminated", "", "enough") }
	if err := stopped(ctx, "terminated", stop); err != nil {
		return err
	}
	var ended *temporal.TerminatedError
	if err := run.Get(ctx, nil); !errors.As(err, &ended) {
		return fmt.Errorf("it should be terminated: %w", err)
	}
	return nil
}

// heartbeats: a worker without a control channel hears it from the answer to a heartbeat.
func heartbeats(ctx context.Context, c client.Client) error {
	alone, err := client.NewClientFromExistingWithContext(ctx, c, client.Options{
		Logger: quiet, WorkerHeartbeatInterval: -1,
	})
	if err != nil {
		return err
	}
	w := newWorker(alone, "without control")
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	options := client.StartWorkflowOptions{ID: "heartbeats", TaskQueue: "without control"}
	run, err := c.ExecuteWorkflow(ctx, options, Beats, "Beating", "heartbeats")
	if err != nil {
		return err
	}
	stop := func() error { return c.CancelWorkflow(ctx, "heartbeats", "") }
	if err := stopped(ctx, "heartbeats", stop); err != nil {
		return err
	}
	return ends(ctx, run, "cancelled")
}

// byWorkflow: the workflow itself cancels one that runs, then one that never started.
func byWorkflow(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "by workflow", CancelsOne, "by workflow")
	if err != nil {
		return err
	}
	stop := func() error { return c.SignalWorkflow(ctx, "by workflow", "", "go", nil) }
	if err := stopped(ctx, "by workflow", stop); err != nil {
		return err
	}
	return ends(ctx, run, "cancelled cancelled")
}

// cleansUp: a cancelled workflow takes its timer back, and does one thing more before it ends.
func cleansUp(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "cleaner", CleansUp)
	if err != nil {
		return err
	}
	for isAsleep := false; !isAsleep; {
		if isAsleep, err = has(ctx, c, "cleaner", enums.EVENT_TYPE_TIMER_STARTED); err != nil {
			return err
		}
	}
	for range 2 {
		if err := c.CancelWorkflow(ctx, "cleaner", ""); err != nil {
			return err
		}
	}
	var cancelled *temporal.CanceledError
	if err := run.Get(ctx, nil); !errors.As(err, &cancelled) {
		return fmt.Errorf("it should be cancelled: %w", err)
	}
	for _, kind := range []enums.EventType{
		enums.EVENT_TYPE_TIMER_CANCELED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
	} {
		found, err := has(ctx, c, "cleaner", kind)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("there is no %s in its history", kind)
		}
	}
	return nil
}

// begin leaves two runs with a worker that is about to be killed: one waits, one has an activity.
func begin(ctx context.Context, c client.Client) error {
	if _, err := start(ctx, c, "chat", Chat); err != nil {
		return err
	}
	if err := c.SignalWorkflow(ctx, "chat", "", "say", "before"); err != nil {
		return err
	}
	if err := shows(ctx, c, "chat", "before"); err != nil {
		return err
	}
	if _, err := start(ctx, c, "beats", Beats, "HalfWay", ""); err != nil {
		return err
	}
	for ctx.Err() == nil {
		described, err := c.DescribeWorkflowExecution(ctx, "beats", "")
		if err != nil {
			return err
		}
		for _, activity := range described.PendingActivities {
			if activity.HeartbeatDetails != nil {
				return nil
			}
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the activity did not begin")
}

// finish: another worker has gone on with both.
func finish(ctx context.Context, c client.Client) error {
	if err := c.SignalWorkflow(ctx, "chat", "", "say", "after"); err != nil {
		return err
	}
	if err := c.SignalWorkflow(ctx, "chat", "", "end", nil); err != nil {
		return err
	}
	if err := ends(ctx, c.GetWorkflow(ctx, "chat", ""), []string{"before", "after"}); err != nil {
		return err
	}
	return ends(ctx, c.GetWorkflow(ctx, "beats", ""), "went on from half-way")
}
