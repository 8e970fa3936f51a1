package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// isMended says whether the code of Broken works.
var isMended atomic.Bool

// Broken does not work until somebody has mended it.
func Broken(ctx workflow.Context) (string, error) {
	handler := func() (string, error) { return "here", nil }
	if err := workflow.SetQueryHandler(ctx, "state", handler); err != nil {
		return "", err
	}
	if !isMended.Load() {
		panic("this is a bug")
	}
	return "works", nil
}

// notReady: who asks a run that cannot answer is told so at once.
func notReady(ctx context.Context, c client.Client) error {
	options := client.StartWorkflowOptions{
		ID: "broken", TaskQueue: queue, WorkflowTaskTimeout: time.Second,
	}
	run, err := c.ExecuteWorkflow(ctx, options, Broken)
	if err != nil {
		return err
	}
	for attempt := int32(0); attempt < 3; {
		described, err := c.DescribeWorkflowExecution(ctx, "broken", "")
		if err != nil {
			return err
		}
		attempt = described.GetPendingWorkflowTask().GetAttempt()
	}
	var refused *serviceerror.WorkflowNotReady
	if _, err := c.QueryWorkflow(ctx, "broken", "", "state"); !errors.As(err, &refused) {
		return fmt.Errorf("it cannot answer: %w", err)
	}
	isMended.Store(true)
	return ends(ctx, run, "works")
}

// Limits waits for activities that nobody can finish in time; it tells which limit each has passed.
func Limits(ctx workflow.Context, key string) ([]string, error) {
	once := &temporal.RetryPolicy{MaximumAttempts: 1}
	short := 300 * time.Millisecond
	kinds := []string{}
	for _, options := range []workflow.ActivityOptions{
		{StartToCloseTimeout: short, RetryPolicy: once},
		{ScheduleToCloseTimeout: short},
		{ScheduleToStartTimeout: short, StartToCloseTimeout: time.Minute, TaskQueue: "nobody"},
		{StartToCloseTimeout: time.Minute, HeartbeatTimeout: short, RetryPolicy: once},
	} {
		limited := workflow.WithActivityOptions(ctx, options)
		err := workflow.ExecuteActivity(limited, Silent, key).Get(ctx, nil)
		var passed *temporal.TimeoutError
		if !errors.As(err, &passed) {
			return nil, fmt.Errorf("it cannot end in time: %w", err)
		}
		kinds = append(kinds, passed.TimeoutType().String()+": "+passed.Message())
	}
	return kinds, nil
}

func timeouts(ctx context.Context, c client.Client) error {
	return gives(ctx, c, []string{
		"StartToClose: activity StartToClose timeout",
		"ScheduleToClose: activity ScheduleToClose timeout",
		"ScheduleToStart: activity ScheduleToStart timeout",
		"Heartbeat: activity Heartbeat timeout",
	}, "limits", Limits, "limits")
}

// Waits for an activity that nobody takes.
func Waits(ctx workflow.Context) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "waits", TaskQueue: "nobody", StartToCloseTimeout: time.Minute,
	})
	var said string
	err := workflow.ExecuteActivity(ctx, Greet, "nobody").Get(ctx, &said)
	return said, err
}

// elsewhere: what waits is completed by its id, and the code says where it stands.
func elsewhere(ctx context.Context, c client.Client) error {
	run, err := start(ctx, c, "waits", Waits)
	if err != nil {
		return err
	}
	for isThere := false; !isThere; {
		described, err := c.DescribeWorkflowExecution(ctx, "waits", "")
		if err != nil {
			return err
		}
		isThere = len(described.PendingActivities) == 1
	}
	answer, err := c.QueryWorkflow(ctx, "waits", "", client.QueryTypeStackTrace)
	if err != nil {
		return err
	}
	var stack string
	if err := answer.Get(&stack); err != nil || !strings.Contains(stack, "main.Waits") {
		return fmt.Errorf("it should say where it stands: %s: %w", stack, err)
	}
	err = c.CompleteActivityByID(ctx, "default", "waits", "", "waits", "from elsewhere", nil)
	if err != nil {
		return err
	}
	return ends(ctx, run, "from elsewhere")
}

// Bounds tells what a run knows of its limits.
func Bounds(ctx workflow.Context) (string, error) {
	info := workflow.GetInfo(ctx)
	return fmt.Sprint(info.WorkflowExecutionTimeout, info.WorkflowRunTimeout), nil
}

// shown: what nobody has said is absent, and lists find what they are asked for.
func shown(ctx context.Context, c client.Client) error {
	if err := gives(ctx, c, "0s 0s", "bounds", Bounds); err != nil {
		return err
	}
	all, err := historyOf(ctx, c, "bounds", "")
	if err != nil {
		return err
	}
	begun := all.Events[0].GetWorkflowExecutionStartedEventAttributes()
	if begun.RetryPolicy != nil || begun.WorkflowExecutionExpirationTime != nil {
		return fmt.Errorf("nobody has said that: %v", begun)
	}
	found := func(query string) ([]string, error) {
		request := &workflowservice.ListWorkflowExecutionsRequest{Query: query}
		listed, err := c.ListWorkflow(ctx, request)
		ids := []string{}
		for _, run := range listed.GetExecutions() {
			ids = append(ids, run.Execution.WorkflowId)
		}
		return ids, err
	}
	for query, isThere := range map[string]bool{
		"WorkflowType = 'Bounds' AND CloseTime > '2020-01-01T00:00:00Z'":  true,
		"WorkflowType = 'Bounds' AND CloseTime <= '2020-01-01T00:00:00Z'": false,
		"WorkflowType = 'Bounds' AND ExecutionDuration > '1h'":            false,
		"WorkflowType = 'Bounds' AND ExecutionStatus = 'Completed'":       true,
	} {
		ids, err := found(query)
		if err != nil || slices.Contains(ids, "bounds") != isThere {
			return fmt.Errorf("%s finds %v: %w", query, ids, err)
		}
	}
	var wrong *serviceerror.InvalidArgument
	for _, query := range []string{"ExecutionStatus = 'Nothing'", "CloseTime > 'yesterday'"} {
		if _, err := found(query); !errors.As(err, &wrong) {
			return fmt.Errorf("%s cannot be answered: %w", query, err)
		}
	}
	filter := enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT
	last, err := c.GetWorkflowHistory(ctx, "bounds", "", true, filter).Next()
	if err != nil {
		return err
	}
	return expect(enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, last.EventType)
}
