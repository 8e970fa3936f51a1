package scenes;

import io.temporal.activity.ActivityCancellationType;
import io.temporal.activity.ActivityOptions;
import io.temporal.activity.LocalActivityOptions;
import io.temporal.common.RetryOptions;
import io.temporal.failure.ActivityFailure;
import io.temporal.failure.CanceledFailure;
import io.temporal.workflow.Async;
import io.temporal.workflow.CancellationScope;
import io.temporal.workflow.ChildWorkflowOptions;
import io.temporal.workflow.Functions;
import io.temporal.workflow.Promise;
import io.temporal.workflow.QueryMethod;
import io.temporal.workflow.SignalMethod;
import io.temporal.workflow.UpdateMethod;
import io.temporal.workflow.UpdateValidatorMethod;
import io.temporal.workflow.Workflow;
import io.temporal.workflow.WorkflowInterface;
import io.temporal.workflow.WorkflowMethod;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Workflows as any user of the Java SDK would write them. */
public final class Flows {
  static final Class<?>[] ALL = {
    HelloCode.class, ChatCode.class, ParentCode.class, CancelsCode.class, BeatsCode.class,
    CancelsOneCode.class, CleansUpCode.class, TimersCode.class, ContinuesCode.class,
    LocalCode.class, RetriesCode.class, ThreadsCode.class, MarkersCode.class,
  };

  private Flows() {}

  private static ActivityOptions.Builder soon() {
    return ActivityOptions.newBuilder()
        .setStartToCloseTimeout(Duration.ofMinutes(1))
        .setCancellationType(ActivityCancellationType.WAIT_CANCELLATION_COMPLETED);
  }

  private static Activities activities(ActivityOptions.Builder options) {
    return Workflow.newActivityStub(Activities.class, options.build());
  }

  private static String how(Promise<Void> code) {
    try {
      code.get();
      return "completed";
    } catch (ActivityFailure failure) {
      if (failure.getCause() instanceof CanceledFailure) {
        return "cancelled";
      }
      throw failure;
    } catch (CanceledFailure cancelled) {
      return "cancelled";
    }
  }

  /** Begins something that can be cancelled alone. */
  private static <T> Cancellable<T> scoped(Functions.Func<Promise<T>> code) {
    var begun = new ArrayList<Promise<T>>();
    var scope = Workflow.newCancellationScope(() -> begun.add(code.apply()));
    scope.run();
    return new Cancellable<>(scope, begun.get(0));
  }

  private record Cancellable<T>(CancellationScope scope, Promise<T> promise) {}

  @WorkflowInterface
  public interface Hello {
    @WorkflowMethod
    String run(String name);
  }

  public static class HelloCode implements Hello {
    @Override
    public String run(String name) {
      return activities(soon()).greet(name);
    }
  }

  /** Collects lines from signals and updates, and shows them, until it is told to end. */
  @WorkflowInterface
  public interface Chat {
    @WorkflowMethod
    List<String> run();

    @SignalMethod
    void say(String line);

    @SignalMethod
    void end();

    @QueryMethod
    List<String> log();

    @UpdateMethod
    int add(String line);

    @UpdateValidatorMethod(updateName = "add")
    void check(String line);
  }

  public static class ChatCode implements Chat {
    private final List<String> lines = new ArrayList<>();
    private boolean isOver;

    @Override
    public List<String> run() {
      Workflow.await(() -> isOver);
      return lines;
    }

    @Override
    public void say(String line) {
      lines.add(line);
    }

    @Override
    public void end() {
      isOver = true;
    }

    @Override
    public List<String> log() {
      return lines;
    }

    @Override
    public int add(String line) {
      lines.add(line);
      return lines.size();
    }

    @Override
    public void check(String line) {
      if (line.equals("no")) {
        throw new IllegalArgumentException("refused");
      }
    }
  }

  @WorkflowInterface
  public interface Parent {
    @WorkflowMethod
    String run();
  }

  public static class ParentCode implements Parent {
    @Override
    public String run() {
      var id = Workflow.getInfo().getWorkflowId() + "/child";
      var options = ChildWorkflowOptions.newBuilder().setWorkflowId(id).build();
      var child = Workflow.newChildWorkflowStub(Hello.class, options);
      return "my child says: " + child.run("papa");
    }
  }

  /** Waits for an activity that never heartbeats. */
  @WorkflowInterface
  public interface Cancels {
    @WorkflowMethod
    String run(String key);
  }

  public static class CancelsCode implements Cancels {
    @Override
    public String run(String key) {
      return how(Async.procedure(activities(soon())::silent, key));
    }
  }

  /** Waits for an activity that heartbeats: one that can be cancelled, or one that is lost. */
  @WorkflowInterface
  public interface Beats {
    @WorkflowMethod
    String run(String name, String key);
  }

  public static class BeatsCode implements Beats {
    @Override
    public String run(String name, String key) {
      if (name.equals("halfWay")) {
        return activities(soon().setHeartbeatTimeout(Duration.ofSeconds(4))).halfWay();
      }
      // The SDK waits for four fifths of it: the rest is for a machine that has much else to do.
      var beats = activities(soon().setHeartbeatTimeout(Duration.ofSeconds(10)));
      return how(Async.procedure(beats::beating, key));
    }
  }

  /** Cancels an activity that runs, then one that nobody can take, and goes on. */
  @WorkflowInterface
  public interface CancelsOne {
    @WorkflowMethod
    String run(String key);

    @SignalMethod
    void go();
  }

  public static class CancelsOneCode implements CancelsOne {
    private boolean isTold;

    @Override
    public String run(String key) {
      var running = scoped(() -> Async.procedure(activities(soon())::silent, key));
      Workflow.await(() -> isTold);
      running.scope().cancel();
      var first = how(running.promise());
      var nobody = activities(soon().setTaskQueue("nobody"));
      var waiting = scoped(() -> Async.procedure(nobody::silent, key));
      Workflow.sleep(1);
      waiting.scope().cancel();
      return first + " " + how(waiting.promise());
    }

    @Override
    public void go() {
      isTold = true;
    }
  }

  /** Is cancelled while it sleeps, and does one thing more. */
  @WorkflowInterface
  public interface CleansUp {
    @WorkflowMethod
    void run();
  }

  public static class CleansUpCode implements CleansUp {
    @Override
    public void run() {
      try {
        Workflow.sleep(Duration.ofHours(1));
      } finally {
        var broom = activities(soon());
        Workflow.newDetachedCancellationScope(() -> broom.greet("broom")).run();
      }
    }
  }

  /** Lets two timers race; the one that loses is taken back. */
  @WorkflowInterface
  public interface Timers {
    @WorkflowMethod
    String run();
  }

  public static class TimersCode implements Timers {
    @Override
    public String run() {
      var late = scoped(() -> Workflow.newTimer(Duration.ofHours(1)));
      var early = Workflow.newTimer(Duration.ofMillis(10));
      Promise.anyOf(late.promise(), early).get();
      var winner = early.isCompleted() && !late.promise().isCompleted() ? "early" : "late";
      late.scope().cancel();
      Workflow.sleep(1);
      return winner;
    }
  }

  @WorkflowInterface
  public interface Continues {
    @WorkflowMethod
    int run(int left, int made);
  }

  public static class ContinuesCode implements Continues {
    @Override
    public int run(int left, int made) {
      if (left == 0) {
        return made;
      }
      return Workflow.newContinueAsNewStub(Continues.class).run(left - 1, made + 1);
    }
  }

  @WorkflowInterface
  public interface Local {
    @WorkflowMethod
    String run();
  }

  public static class LocalCode implements Local {
    @Override
    public String run() {
      var limit = Duration.ofSeconds(10);
      var options = LocalActivityOptions.newBuilder().setStartToCloseTimeout(limit).build();
      return Workflow.newLocalActivityStub(Activities.class, options).greet("neighbour");
    }
  }

  @WorkflowInterface
  public interface Retries {
    @WorkflowMethod
    int run();
  }

  public static class RetriesCode implements Retries {
    @Override
    public int run() {
      var soon = RetryOptions.newBuilder().setInitialInterval(Duration.ofMillis(10)).build();
      return activities(soon().setRetryOptions(soon)).flaky();
    }
  }

  /** Three threads of the workflow's, each with an activity, send what they hear to a queue. */
  @WorkflowInterface
  public interface Threads {
    @WorkflowMethod
    int run();
  }

  public static class ThreadsCode implements Threads {
    @Override
    public int run() {
      var heard = Workflow.<String>newWorkflowQueue(1);
      var threads = new ArrayList<Promise<Void>>();
      for (var name : List.of("one", "two", "three")) {
        threads.add(Async.procedure(() -> heard.put(activities(soon()).greet(name))));
      }
      int right = 0;
      for (int count = 0; count < 3; count++) {
        right += heard.take().startsWith("Hello, ") ? 1 : 0;
      }
      Promise.allOf(threads).get();
      return right;
    }
  }

  /** Leaves one marker of each kind in its history. */
  @WorkflowInterface
  public interface Markers {
    @WorkflowMethod
    String run();
  }

  public static class MarkersCode implements Markers {
    @Override
    public String run() {
      int version = Workflow.getVersion("change", Workflow.DEFAULT_VERSION, 2);
      int once = Workflow.sideEffect(Integer.class, () -> 4);
      int often = Workflow.mutableSideEffect("dice", Integer.class, Integer::equals, () -> 4);
      Workflow.sleep(1);
      version += Workflow.getVersion("change", Workflow.DEFAULT_VERSION, 2);
      return version + " " + once + " " + often;
    }
  }
}
