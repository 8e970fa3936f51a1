package scenes;

import static scenes.Stage.ends;
import static scenes.Stage.expect;
import static scenes.Stage.fails;
import static scenes.Stage.stopped;
import static scenes.Stage.until;

import io.temporal.api.enums.v1.EventType;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowStub;
import io.temporal.failure.CanceledFailure;
import io.temporal.failure.TerminatedFailure;
import java.util.List;

/** Cancels of each kind, and a worker that is lost. */
final class Cancels {
  private Cancels() {}

  /** An activity that never heartbeats is told at once, with the settings that all have. */
  static void pushed(Stage stage) throws Exception {
    var run = stage.start("pushed", "Cancels", "pushed");
    stopped("pushed", run::cancel);
    // This SDK ends a run as cancelled that was asked to, whatever its code returns.
    endsWith(CanceledFailure.class, run);
  }

  private static void endsWith(Class<?> cause, WorkflowStub run) {
    var failed = fails(WorkflowFailedException.class, () -> run.getResult(Object.class));
    expect(cause, failed.getCause().getClass());
  }

  /** The same, where no workflow code runs any more. */
  static void terminated(Stage stage) throws Exception {
    var run = stage.start("terminated", "Cancels", "terminated");
    stopped("terminated", () -> run.terminate("enough"));
    endsWith(TerminatedFailure.class, run);
  }

  /** An activity that heartbeats hears it from whoever is first: this SDK has no other setting. */
  static void heartbeats(Stage stage) throws Exception {
    var run = stage.start("heartbeats", "Beats", "beating", "heartbeats");
    stopped("heartbeats", run::cancel);
    endsWith(CanceledFailure.class, run);
  }

  /** The workflow itself cancels one that runs, then one that never started. */
  static void byWorkflow(Stage stage) throws Exception {
    var run = stage.start("by workflow", "CancelsOne", "by workflow");
    stopped("by workflow", () -> run.signal("go"));
    ends("cancelled cancelled", run);
  }

  private static boolean has(Stage stage, EventType kind) {
    var events = stage.client().fetchHistory("cleaner").getEvents();
    return events.stream().anyMatch(event -> event.getEventType() == kind);
  }

  /** A cancelled workflow takes its timer back, and does one thing more before it ends. */
  static void cleansUp(Stage stage) throws Exception {
    var run = stage.start("cleaner", "CleansUp");
    until(() -> has(stage, EventType.EVENT_TYPE_TIMER_STARTED));
    run.cancel();
    run.cancel();
    endsWith(CanceledFailure.class, run);
    expect(true, has(stage, EventType.EVENT_TYPE_TIMER_CANCELED));
    expect(true, has(stage, EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED));
  }

  /** Leaves two runs with a worker that is about to be killed: one waits, one has an activity. */
  static void begin(Stage stage) {
    var chat = stage.start("chat", "Chat");
    chat.signal("say", "before");
    expect(List.of("before"), chat.query("log", List.class));
    var beats = stage.start("beats", "Beats", "halfWay", "");
    until(() -> {
      var pending = beats.describe().getRawDescription().getPendingActivitiesList();
      return pending.stream().anyMatch(activity -> activity.hasHeartbeatDetails());
    });
  }

  /** Another worker has gone on with both. */
  static void finish(Stage stage) throws Exception {
    var chat = stage.client().newUntypedWorkflowStub("chat");
    chat.signal("say", "after");
    chat.signal("end");
    ends(List.of("before", "after"), chat);
    ends("went on from half-way", stage.client().newUntypedWorkflowStub("beats"));
  }
}
