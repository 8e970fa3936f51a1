package scenes;

import static scenes.Stage.QUEUE;
import static scenes.Stage.ends;
import static scenes.Stage.expect;
import static scenes.Stage.fails;

import io.temporal.api.enums.v1.WorkflowExecutionStatus;
import io.temporal.client.WorkflowNotFoundException;
import io.temporal.client.WorkflowQueryException;
import io.temporal.client.WorkflowStub;
import io.temporal.client.WorkflowUpdateException;
import io.temporal.worker.WorkerFactoryOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What every user of the SDK meets. */
final class Features {
  private Features() {}

  static void hello(Stage stage) throws Exception {
    stage.gives("Hello, Duke!", "hello", "Hello", "Duke");
  }

  /** They arrive in order, and a closed run refuses them. */
  static void signals(Stage stage) throws Exception {
    var run = stage.start("signals", "Chat");
    var wanted = new ArrayList<String>();
    for (int number = 0; number < 20; number++) {
      wanted.add("line " + number);
      run.signal("say", "line " + number);
    }
    run.signal("end");
    ends(wanted, run);
    fails(WorkflowNotFoundException.class, () -> run.signal("say", "late"));
  }

  private static void shows(WorkflowStub run, List<String> wanted) {
    expect(wanted, run.query("log", List.class));
  }

  /** They are answered by runs that wait, and by closed ones. */
  static void queries(Stage stage) throws Exception {
    var run = stage.start("queries", "Chat");
    run.signal("say", "one");
    for (int count = 0; count < 5; count++) {
      shows(run, List.of("one"));
    }
    fails(WorkflowQueryException.class, () -> run.query("nothing", String.class));
    run.signal("end");
    ends(List.of("one"), run);
    shows(run, List.of("one"));
  }

  static void updates(Stage stage) throws Exception {
    var run = stage.start("updates", "Chat");
    for (int number = 1; number <= 2; number++) {
      fails(WorkflowUpdateException.class, () -> run.update("add", Integer.class, "no"));
      expect(number, run.update("add", Integer.class, "line " + number));
    }
    run.signal("end");
    ends(List.of("line 1", "line 2"), run);
  }

  static void children(Stage stage) throws Exception {
    stage.gives("my child says: Hello, papa!", "parent", "Parent");
  }

  static void timers(Stage stage) throws Exception {
    stage.gives("early", "timers", "Timers");
  }

  static void continues(Stage stage) throws Exception {
    stage.gives(3, "continues", "Continues", 3, 0);
  }

  static void local(Stage stage) throws Exception {
    stage.gives("Hello, neighbour!", "local", "Local");
  }

  static void retries(Stage stage) throws Exception {
    stage.gives(3, "retries", "Retries");
  }

  static void threads(Stage stage) throws Exception {
    stage.gives(3, "threads", "Threads");
  }

  static void markers(Stage stage) throws Exception {
    stage.gives("4 4 4", "markers", "Markers");
  }

  static void signalWithStart(Stage stage) throws Exception {
    WorkflowStub run = null;
    for (var line : List.of("first", "second")) {
      run = stage.stub("both", "Chat", QUEUE);
      run.signalWithStart("say", new Object[] {line}, new Object[0]);
    }
    run.signal("end");
    ends(List.of("first", "second"), run);
  }

  /** Three runs share a cache with room for one, so each of them is replayed again and again. */
  static void evicted(Stage stage) throws Exception {
    var options = WorkerFactoryOptions.newBuilder().setWorkflowCacheSize(1).build();
    stage.with("small cache", options, Features::evict);
  }

  private static void evict(Stage stage) throws Exception {
    var runs = new ArrayList<WorkflowStub>();
    for (int number = 0; number < 3; number++) {
      var run = stage.stub("evicted " + number, "Chat", "small cache");
      run.start();
      runs.add(run);
    }
    var wanted = new ArrayList<String>();
    for (int round = 0; round < 3; round++) {
      wanted.add("round " + round);
      for (var run : runs) {
        run.signal("say", "round " + round);
        shows(run, wanted);
      }
    }
    for (var run : runs) {
      run.signal("end");
      ends(wanted, run);
    }
  }

  /** The SDK replays every history, but those that end in a termination: it knows no such event. */
  static void replay(Stage stage) throws Exception {
    var client = stage.client();
    int replayed = 0;
    for (var run : client.listExecutions("").toList()) {
      if (run.getStatus() == WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED) {
        continue;
      }
      var named = run.getExecution();
      var history = client.fetchHistory(named.getWorkflowId(), named.getRunId());
      try {
        stage.worker().replayWorkflowExecution(history);
      } catch (Exception | Error failed) {
        throw new AssertionError("replay of " + named.getWorkflowId() + ": " + failed, failed);
      }
      replayed++;
    }
    Stage.say(Map.of("replayed", replayed));
  }
}
