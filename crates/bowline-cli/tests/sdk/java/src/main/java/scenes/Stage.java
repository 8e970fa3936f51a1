package scenes;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowStub;
import io.temporal.worker.Worker;
import io.temporal.worker.WorkerFactory;
import io.temporal.worker.WorkerFactoryOptions;
import io.temporal.worker.WorkerOptions;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** What scenes are made of. */
record Stage(WorkflowClient client, Worker worker) {
  static final String QUEUE = "java";

  /** A scene, which fails by throwing. */
  interface Scene {
    void play(Stage stage) throws Exception;
  }

  static Worker worker(WorkerFactory factory, String queue) {
    // A machine that has much to do is no deadlock.
    var options = WorkerOptions.newBuilder().setDefaultDeadlockDetectionTimeout(30_000).build();
    var worker = factory.newWorker(queue, options);
    worker.registerWorkflowImplementationTypes(Flows.ALL);
    worker.registerActivitiesImplementations(new Activities.Code());
    return worker;
  }

  /** A worker of a scene's own, which ends with it. */
  void with(String queue, WorkerFactoryOptions options, Scene scene) throws Exception {
    var factory = WorkerFactory.newInstance(client, options);
    worker(factory, queue);
    factory.start();
    try {
      scene.play(this);
    } finally {
      factory.shutdownNow();
      factory.awaitTermination(10, TimeUnit.SECONDS);
    }
  }

  WorkflowStub stub(String id, String flow, String queue) {
    var options = WorkflowOptions.newBuilder().setWorkflowId(id).setTaskQueue(queue).build();
    return client.newUntypedWorkflowStub(flow, options);
  }

  WorkflowStub start(String id, String flow, Object... arguments) {
    var stub = stub(id, flow, QUEUE);
    stub.start(arguments);
    return stub;
  }

  /** Starts a workflow and compares its result. */
  void gives(Object wanted, String id, String flow, Object... arguments) throws Exception {
    ends(wanted, start(id, flow, arguments));
  }

  static void ends(Object wanted, WorkflowStub run) throws Exception {
    expect(wanted, run.getResult(100, TimeUnit.SECONDS, Object.class));
  }

  static void expect(Object wanted, Object found) {
    if (!Objects.equals(wanted, found)) {
      throw new AssertionError("expected " + wanted + ", found " + found);
    }
  }

  /** Runs something that must fail in this way. */
  static <E extends Throwable> E fails(Class<E> how, Runnable code) {
    try {
      code.run();
    } catch (Throwable found) {
      if (how.isInstance(found)) {
        return how.cast(found);
      }
      throw found;
    }
    throw new AssertionError("this should be a " + how.getSimpleName());
  }

  static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException interrupted) {
      throw new IllegalStateException(interrupted);
    }
  }

  static void until(BooleanSupplier what) {
    while (!what.getAsBoolean()) {
      pause(1);
    }
  }

  private static long sees(String key) {
    until(() -> Activities.Code.SEEN.containsKey(key));
    return Activities.Code.SEEN.get(key);
  }

  /** How long an activity waits for the word, once the request was answered. */
  static void stopped(String name, Runnable stop) {
    sees("started " + name);
    stop.run();
    long asked = System.nanoTime();
    double waited = (sees("cancelled " + name) - asked) / 1e6;
    say(Map.of("latency_of", name, "ms", waited));
  }

  static void say(Map<String, ?> told) {
    try {
      System.out.println(new ObjectMapper().writeValueAsString(new TreeMap<>(told)));
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }
}
