package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Workflows and activities as any user of the Go SDK would write them.
var (
	flows = []any{
		Hello, Chat, Parent, Cancels, Beats, CancelsOne, CleansUp, Timers, Continues, Local,
		Retries, Routines, Markers, Session, Outside, Relay, Broken, Limits, Waits, Bounds,
	}
	activities = []any{Greet, Silent, Beating, Flaky, HalfWay}
)

// What activities of this process have seen, by the key that they were called with.
var seen sync.Map

func Greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

// Silent never heartbeats, and goes on until it is told to stop.
func Silent(ctx context.Context, key string) error {
	seen.Store("started "+key, time.Now())
	<-ctx.Done()
	seen.Store("cancelled "+key, time.Now())
	return ctx.Err()
}

// Beating says that it lives, and has no other way to hear of a cancel.
func Beating(ctx context.Context, key string) error {
	seen.Store("started "+key, time.Now())
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx, "beat")
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	seen.Store("cancelled "+key, time.Now())
	return ctx.Err()
}

// Flaky succeeds the third time.
func Flaky(ctx context.Context) (int32, error) {
	if attempt := activity.GetInfo(ctx).Attempt; attempt < 3 {
		return 0, fmt.Errorf("attempt %d fails", attempt)
	}
	return activity.GetInfo(ctx).Attempt, nil
}

// HalfWay is lost with its worker the first time, and goes on from there the second.
func HalfWay(ctx context.Context) (string, error) {
	if activity.HasHeartbeatDetails(ctx) {
		var point string
		err := activity.GetHeartbeatDetails(ctx, &point)
		return "went on from " + point, err
	}
	activity.RecordHeartbeat(ctx, "half-way")
	<-ctx.Done()
	return "", ctx.Err()
}

func soon(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		WaitForCancellation: true,
	})
}

func Hello(ctx workflow.Context, name string) (string, error) {
	var said string
	err := workflow.ExecuteActivity(soon(ctx), Greet, name).Get(ctx, &said)
	return said, err
}

// Chat collects lines from signals and updates, and shows them, until it is told to end.
func Chat(ctx workflow.Context) ([]string, error) {
	lines := []string{}
	err := workflow.SetQueryHandler(ctx, "log", func() ([]string, error) { return lines, nil })
	if err != nil {
		return nil, err
	}
	add := func(_ workflow.Context, line string) (int, error) {
		lines = append(lines, line)
		return len(lines), nil
	}
	check := func(_ workflow.Context, line string) error {
		if line == "no" {
			return errors.New("refused")
		}
		return nil
	}
	options := workflow.UpdateHandlerOptions{Validator: check}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "add", add, options); err != nil {
		return nil, err
	}
	says, ends := workflow.GetSignalChannel(ctx, "say"), workflow.GetSignalChannel(ctx, "end")
	isOver := false
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(says, func(c workflow.ReceiveChannel, _ bool) {
		var line string
		c.Receive(ctx, &line)
		lines = append(lines, line)
	})
	selector.AddReceive(ends, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		isOver = true
	})
	for !isOver {
		selector.Select(ctx)
	}
	return lines, nil
}

func Parent(ctx workflow.Context) (string, error) {
	options := workflow.ChildWorkflowOptions{
		WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "/child",
	}
	ctx = workflow.WithChildOptions(ctx, options)
	var said string
	err := workflow.ExecuteChildWorkflow(ctx, Hello, "papa").Get(ctx, &said)
	return "my child says: " + said, err
}

// Cancels waits for an activity that never heartbeats.
func Cancels(ctx workflow.Context, key string) (string, error) {
	return how(workflow.ExecuteActivity(soon(ctx), Silent, key).Get(ctx, nil))
}

// Beats waits for an activity that heartbeats: one that can be cancelled, or one that is lost.
func Beats(ctx workflow.Context, name, key string) (string, error) {
	options := workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		// The SDK waits for four fifths of it: the rest is for a machine that has much else to do.
		HeartbeatTimeout:    10 * time.Second,
		WaitForCancellation: true,
	}
	if name == "HalfWay" {
		options.HeartbeatTimeout = 4 * time.Second
	}
	ctx = workflow.WithActivityOptions(ctx, options)
	if name == "HalfWay" {
		var said string
		err := workflow.ExecuteActivity(ctx, HalfWay).Get(ctx, &said)
		return said, err
	}
	return how(workflow.ExecuteActivity(ctx, Beating, key).Get(ctx, nil))
}

func how(err error) (string, error) {
	if temporal.IsCanceledError(err) {
		return "cancelled", nil
	}
	return "", err
}

// CancelsOne cancels an activity that runs, then one that nobody can take, and goes on.
func CancelsOne(ctx workflow.Context, key string) (string, error) {
	inner, cancel := workflow.WithCancel(soon(ctx))
	running := workflow.ExecuteActivity(inner, Silent, key)
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	cancel()
	first, err := how(running.Get(ctx, nil))
	if err != nil {
		return "", err
	}
	inner, cancel = workflow.WithCancel(workflow.WithTaskQueue(soon(ctx), "nobody"))
	waiting := workflow.ExecuteActivity(inner, Silent, key)
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return "", err
	}
	cancel()
	second, err := how(waiting.Get(ctx, nil))
	return first + " " + second, err
}

// CleansUp is cancelled while it sleeps, and does one thing more.
func CleansUp(ctx workflow.Context) error {
	err := workflow.Sleep(ctx, time.Hour)
	cleaning, _ := workflow.NewDisconnectedContext(soon(ctx))
	if err := workflow.ExecuteActivity(cleaning, Greet, "broom").Get(cleaning, nil); err != nil {
		return err
	}
	return err
}

// Timers lets two timers race; the one that loses is taken back.
func Timers(ctx workflow.Context) (string, error) {
	inner, cancel := workflow.WithCancel(ctx)
	selector := workflow.NewSelector(ctx)
	winner := ""
	selector.AddFuture(workflow.NewTimer(inner, time.Hour), func(workflow.Future) {
		winner = "late"
	})
	selector.AddFuture(workflow.NewTimer(ctx, 10*time.Millisecond), func(workflow.Future) {
		winner = "early"
	})
	selector.Select(ctx)
	cancel()
	return winner, workflow.Sleep(ctx, time.Millisecond)
}

func Continues(ctx workflow.Context, left, made int) (int, error) {
	if left == 0 {
		return made, nil
	}
	return 0, workflow.NewContinueAsNewError(ctx, Continues, left-1, made+1)
}

func Local(ctx workflow.Context) (string, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
	})
	var said string
	err := workflow.ExecuteLocalActivity(ctx, Greet, "neighbour").Get(ctx, &said)
	return said, err
}

func Retries(ctx workflow.Context) (int32, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Millisecond},
	})
	var attempt int32
	err := workflow.ExecuteActivity(ctx, Flaky).Get(ctx, &attempt)
	return attempt, err
}

// Routines counts what three coroutines send over a channel, each after an activity of its own.
func Routines(ctx workflow.Context) (int, error) {
	heard := workflow.NewChannel(ctx)
	all := workflow.NewWaitGroup(ctx)
	for _, name := range []string{"one", "two", "three"} {
		all.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done()
			var said string
			err := workflow.ExecuteActivity(soon(ctx), Greet, name).Get(ctx, &said)
			heard.Send(ctx, err == nil && said == "Hello, "+name+"!")
		})
	}
	right := 0
	for range 3 {
		var isRight bool
		heard.Receive(ctx, &isRight)
		if isRight {
			right++
		}
	}
	all.Wait(ctx)
	return right, nil
}

// Markers leaves one of each kind in its history, and a search attribute with the version.
func Markers(ctx workflow.Context) (string, error) {
	version := workflow.GetVersion(ctx, "change", workflow.DefaultVersion, 2)
	var once, often int
	dice := func(workflow.Context) any { return 4 }
	if err := workflow.SideEffect(ctx, dice).Get(&once); err != nil {
		return "", err
	}
	same := func(a, b any) bool { return a == b }
	if err := workflow.MutableSideEffect(ctx, "dice", dice, same).Get(&often); err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
		return "", err
	}
	version += workflow.GetVersion(ctx, "change", workflow.DefaultVersion, 2)
	return fmt.Sprint(version, once, often), nil
}

// Session keeps two activities on one worker.
func Session(ctx workflow.Context) (string, error) {
	options := &workflow.SessionOptions{
		CreationTimeout: time.Minute, ExecutionTimeout: time.Minute,
	}
	ctx, err := workflow.CreateSession(soon(ctx), options)
	if err != nil {
		return "", err
	}
	defer workflow.CompleteSession(ctx)
	var first, second string
	if err := workflow.ExecuteActivity(ctx, Greet, "you").Get(ctx, &first); err != nil {
		return "", err
	}
	err = workflow.ExecuteActivity(ctx, Greet, "there").Get(ctx, &second)
	return first + " " + second, err
}
