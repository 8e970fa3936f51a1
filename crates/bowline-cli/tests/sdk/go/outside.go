package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Outside speaks to a child of its own, and to runs that are not: each is signalled, one of those
// is cancelled, and one is not there.
func Outside(ctx workflow.Context, chat, sleeper string) (string, error) {
	id := workflow.GetInfo(ctx).WorkflowExecution.ID + "/child"
	inner := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: id})
	child := workflow.ExecuteChildWorkflow(inner, Chat)
	for _, signal := range []string{"say", "end"} {
		if err := child.SignalChildWorkflow(ctx, signal, "from above").Get(ctx, nil); err != nil {
			return "", err
		}
	}
	var heard []string
	if err := child.Get(ctx, &heard); err != nil {
		return "", err
	}
	signalled := workflow.SignalExternalWorkflow(ctx, chat, "", "say", "from outside")
	if err := signalled.Get(ctx, nil); err != nil {
		return "", err
	}
	cancelled := workflow.RequestCancelExternalWorkflow(ctx, sleeper, "")
	if err := cancelled.Get(ctx, nil); err != nil {
		return "", err
	}
	var unknown *temporal.UnknownExternalWorkflowExecutionError
	for _, missing := range []workflow.Future{
		workflow.SignalExternalWorkflow(ctx, "nobody", "", "say", "hello?"),
		workflow.RequestCancelExternalWorkflow(ctx, "nobody", ""),
	} {
		if err := missing.Get(ctx, nil); !errors.As(err, &unknown) {
			return "", fmt.Errorf("there is nobody: %w", err)
		}
	}
	return strings.Join(heard, ","), workflow.Sleep(ctx, time.Millisecond)
}

// outside: what the SDK sends with a command must come back in the event, or its replay fails.
func outside(ctx context.Context, c client.Client) error {
	chat, err := start(ctx, c, "outside chat", Chat)
	if err != nil {
		return err
	}
	sleeper, err := start(ctx, c, "outside sleeper", CleansUp)
	if err != nil {
		return err
	}
	names := []any{"outside chat", "outside sleeper"}
	if err := gives(ctx, c, "from above", "outside", Outside, names...); err != nil {
		return err
	}
	var cancelled *temporal.CanceledError
	if err := sleeper.Get(ctx, nil); !errors.As(err, &cancelled) {
		return fmt.Errorf("it should be cancelled: %w", err)
	}
	if err := c.SignalWorkflow(ctx, "outside chat", "", "end", nil); err != nil {
		return err
	}
	return ends(ctx, chat, []string{"from outside"})
}

// Relay goes on as another run whenever it is told to, until it has heard enough.
func Relay(ctx workflow.Context, heard int) (int, error) {
	hear := func(_ workflow.Context, line string) (string, error) {
		heard++
		return line, nil
	}
	if err := workflow.SetUpdateHandler(ctx, "hear", hear); err != nil {
		return 0, err
	}
	// It ends whatever its handler still does.
	hold := func(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }
	options := workflow.UpdateHandlerOptions{
		UnfinishedPolicy: workflow.HandlerUnfinishedPolicyAbandon,
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, "hold", hold, options); err != nil {
		return 0, err
	}
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	if heard < 4 {
		return 0, workflow.NewContinueAsNewError(ctx, Relay, heard)
	}
	return heard, nil
}

func update(ctx context.Context, c client.Client, id, name string, args ...any) (
	client.WorkflowUpdateHandle, error,
) {
	return c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: args,
		WaitForStage: client.WorkflowUpdateStageAccepted,
	})
}

// closing: a run goes on as another, or ends, while updates are under way: each has its answer.
func closing(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "relay", Relay, 0)
	if err != nil {
		return err
	}
	for number := range 4 {
		told := make(chan error, 1)
		go func() { told <- c.SignalWorkflow(ctx, "relay", "", "go", nil) }()
		handle, err := update(ctx, c, "relay", "hear", fmt.Sprint(number))
		if err != nil {
			return err
		}
		var line string
		if err := handle.Get(ctx, &line); err != nil {
			return err
		}
		if err := errors.Join(<-told, expect(fmt.Sprint(number), line)); err != nil {
			return err
		}
	}
	// It may have heard enough before it was told the last time.
	var gone *serviceerror.NotFound
	if err := c.SignalWorkflow(ctx, "relay", "", "go", nil); err != nil && !errors.As(err, &gone) {
		return err
	}
	if err := ends(ctx, run, 4); err != nil {
		return err
	}
	return abandoned(ctx, c)
}

// abandoned: a run ends, and an update that it had accepted with it.
func abandoned(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "abandons", Relay, 4)
	if err != nil {
		return err
	}
	held, err := update(ctx, c, "abandons", "hold")
	if err != nil {
		return err
	}
	// Who does not want to wait does not wait.
	short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := held.Get(short, nil); err == nil || ctx.Err() != nil {
		return fmt.Errorf("it cannot have an outcome: %w", err)
	}
	if err := c.SignalWorkflow(ctx, "abandons", "", "go", nil); err != nil {
		return err
	}
	var failed *temporal.ApplicationError
	err = held.Get(ctx, nil)
	if !errors.As(err, &failed) || failed.Type() != "AcceptedUpdateCompletedWorkflow" {
		return fmt.Errorf("nobody has answered it: %w", err)
	}
	return ends(ctx, run, 4)
}
